"""How each kind of server is asked, and how its stream is read. Nothing here knows a socket."""
