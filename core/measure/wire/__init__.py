"""HTTP and event streams on bare sockets, so that every arrival is stamped before it is parsed."""
