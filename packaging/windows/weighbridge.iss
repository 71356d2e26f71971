; Inno Setup 6: an installer for this user, without administrator's rights.
; `make bundle` (or python packaging\make_bundle.py) must have made dist\weighbridge before.
; Untested: no Windows was at hand. Written against the documentation of Inno Setup 6.
#define Version "0.1.0"

[Setup]
AppId={{6F5D2C0A-7B1E-4E7B-9A44-0C6A5C3C7D21}
AppName=Weighbridge
AppVersion={#Version}
DefaultDirName={localappdata}\Programs\Weighbridge
DefaultGroupName=Weighbridge
PrivilegesRequired=lowest
DisableProgramGroupPage=yes
LicenseFile=..\..\LICENSE
OutputDir=..\..\dist
OutputBaseFilename=weighbridge-{#Version}-windows-setup
Compression=lzma2/max
SolidCompression=yes
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
ChangesAssociations=yes
UninstallDisplayIcon={app}\weighbridge.exe

[Files]
Source: "..\..\dist\weighbridge\*"; DestDir: "{app}"; Flags: recursesubdirs createallsubdirs ignoreversion

[Icons]
Name: "{group}\Weighbridge"; Filename: "{app}\weighbridge.exe"

[Registry]
; A ProgID of our own, a place in "Open with" and in the settings for default programs. The default
; stays whose it is. The program itself writes the same (gui/workers/windows_files.py).
Root: HKCU; Subkey: "Software\Classes\Weighbridge.gguf"; ValueType: string; ValueData: "GGUF language model"; Flags: uninsdeletekey
Root: HKCU; Subkey: "Software\Classes\Weighbridge.gguf\DefaultIcon"; ValueType: string; ValueData: "{app}\weighbridge.exe,0"
Root: HKCU; Subkey: "Software\Classes\Weighbridge.gguf\shell\open\command"; ValueType: string; ValueData: """{app}\weighbridge.exe"" ""%1"""
Root: HKCU; Subkey: "Software\Classes\.gguf\OpenWithProgids"; ValueType: none; ValueName: "Weighbridge.gguf"; Flags: uninsdeletevalue
Root: HKCU; Subkey: "Software\Weighbridge"; Flags: uninsdeletekey
Root: HKCU; Subkey: "Software\Weighbridge\Capabilities"; ValueType: string; ValueName: "ApplicationName"; ValueData: "Weighbridge"
Root: HKCU; Subkey: "Software\Weighbridge\Capabilities"; ValueType: string; ValueName: "ApplicationDescription"; ValueData: "Weigh a language model before you load it"
Root: HKCU; Subkey: "Software\Weighbridge\Capabilities\FileAssociations"; ValueType: string; ValueName: ".gguf"; ValueData: "Weighbridge.gguf"
Root: HKCU; Subkey: "Software\RegisteredApplications"; ValueType: string; ValueName: "Weighbridge"; ValueData: "Software\Weighbridge\Capabilities"; Flags: uninsdeletevalue

[Run]
Filename: "{app}\weighbridge.exe"; Description: "Start Weighbridge"; Flags: nowait postinstall skipifsilent
