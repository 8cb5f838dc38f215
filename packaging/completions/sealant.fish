# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_sealant_global_optspecs
    string join \n h/help V/version
end

function __fish_sealant_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_sealant_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_sealant_using_subcommand
    set -l cmd (__fish_sealant_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c sealant -n "__fish_sealant_needs_command" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_needs_command" -s V -l version -d 'Print version'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "audit" -d 'Show what is still readable to someone who steals the disk or listens on the wire'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "backup" -d 'Make encrypted, signed backups of a data directory, and prove every page of them'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "bench" -d 'Measure what this program costs on this machine, compared with its alternatives'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "cert" -d 'Make certificates for tunnels, transfers and servers, watch when they expire, and install them without a restart'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "checks" -d 'List the checks of `audit`, or explain one'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "cost" -d 'Measure what encryption costs on this machine, layer by layer, and report what to choose'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "encrypt" -d 'Encrypt what a running server stores in plaintext, and prove it from the bytes'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "keyring" -d 'Give a server a keyring or key file, in a safe place with safe permissions, and prove that the server uses it'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "keys" -d 'List every key that opens something on a server, where it is, and what still needs it; never the key itself'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "luks" -d 'Check, create, open and re-encrypt the encrypted disk below a data directory, and manage its keys and its header'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "migrate" -d 'Move the tables of a server into another one over SQL while they are in use, never less encrypted'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "monitor" -d 'Audit a fleet again and again, and serve the results as a page and as metrics'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "provision" -d 'Make a server that runs on a copy of another server\'s data a replica or group member of that server'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "receive" -d 'Receive a data directory from another host'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "restore" -d 'Restore a backup into a directory, proven from the disk before it is moved into place'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "rotate" -d 'Give a running server new keys and certificates, and prove from the bytes and the wire that nothing is lost'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "send" -d 'Send a data directory to another host, encrypted and verified'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "snapshot" -d 'Take a consistent copy of a running server\'s data directory, of one instant for all files'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "sniff" -d 'Watch the packets of a server\'s ports, and tell from their bytes which connections are encrypted'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "tunnel" -d 'Connect applications to a remote MySQL or MariaDB server over TLS 1.3, without a handshake for each connection'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "verify" -d 'Prove offline that every page can be decrypted with the given keys, or list what is damaged'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "sst" -d 'Galera\'s state transfer, as servers start it (wsrep_sst_method=sealant)'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "generate" -d 'Write man pages, completions, the reference of checks or what was run on which server'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l offline -d 'Audit this data directory or backup of one, without a server: only its bytes are read' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l facts -d 'Judge the facts in this file, which --save has written, instead of a server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l fleet -d 'Audit all servers in this file, concurrently, in one report (TOML; see docs/audit.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l backup -d 'Directory with dumps or backups to judge (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l keyring-copy -d 'Copy of MySQL\'s keyring file, or the configuration of the service with the keys: prove that it alone decrypts everything (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l key-file-copy -d 'Copy of MariaDB\'s key file: prove that it alone decrypts everything (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l key-file-copy-password-file -d 'File with the password of that copy, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l state-dir -d 'Directory of the key register, in which `sealant rotate` and `sealant keys` record dates and proven copies [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l client-name -d 'Host name or address that clients use for this server, which its certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l option-file -d 'Further option file of the server or its clients to judge (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l sniff -d 'Also watch the packets of the server\'s ports for this long, and judge what crosses the network in clear text; needs root or the capability CAP_NET_RAW (see docs/sniff.md)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l pcap -d 'Judge the packets of the server\'s ports in this file, pcap or pcapng, instead of watching the network; they show when they were captured, not now (see docs/sniff.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l interface -d 'Watch this network interface only [default: all]' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l fail-on -d 'Exit with 3 if a failure is at least this severe: info, low, medium, high, critical, or never' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l waivers -d 'File of failures that are accepted until a date (TOML; see docs/audit.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l policy -d 'File with the limits of your site, such as the maximum age of keys (TOML; see docs/audit.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l baseline -d 'Facts saved earlier with --save; changes since then are reported as the finding ev-drift' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l check -d 'Run only this check (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l format -d 'Format of the report: table, json, sarif, junit, csv, markdown, html, prometheus' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s o -l output -d 'Write the report to this file instead of standard output' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l html -d 'Also write an HTML report to this file (repeatable, like the next options)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l json -d 'Also write a JSON report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l sarif -d 'Also write a SARIF 2.1.0 report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l junit -d 'Also write a JUnit XML report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l csv -d 'Also write a CSV report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l markdown -d 'Also write a Markdown report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l prometheus -d 'Also write metrics to this file, for node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l write-waivers -d 'Also write a waiver file to this file, with a draft for every failure: add why each is accepted, by whom and until when, delete the others, and pass the file to --waivers' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l write-fixes -d 'Also write a shell script with the fixes for one server; it only sets variables, all other fixes in it are commented out' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l save -d 'Save the facts to this file, to judge them again with --facts or to compare them with `sealant audit diff`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l only -d 'Show only failures that are at least this severe in the table: low, medium, high or critical' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l color -d 'When to colour the table' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l deep -d 'Read every page of every file instead of a sample, and decrypt it with the keys that are found, as `sealant verify` does'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-files -d 'Do not read the server\'s files'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-wire -d 'Do not probe the server\'s ports'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-host -d 'Do not examine the host: its disks, the server\'s process, option files'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l require-complete -d 'Exit with 4 if something is UNKNOWN'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s v -l verbose -d 'List all findings in the table, including those that passed'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l summary -d 'Show only the coverage map, the servers and the totals in the table'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -a "diff" -d 'Show what changed between two saved facts files: new, fixed, worse'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -l fail-on -d 'Exit with 3 if a new or worse failure is at least this severe: info, low, medium, high, critical, or never' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Show what changed between two saved facts files: new, fixed, worse'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "init" -d 'Create the repository and the signing key, and prove that each recipient can decrypt'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "policy" -d 'Print a bucket policy that gives each role the access to the repository that it needs, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "prune" -d 'Remove backups that the retention rules do not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "report" -d 'Report how old the newest good backup is, what each backup holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "keyring" -d 'Check copies of the keyring, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l answer -d 'Word that was decrypted with the identity of a recipient (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l challenges -d 'Also write the encrypted words to this directory, as age files to copy to the machine with the identity' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l unproven-recipient -d 'Exit with 0 even if recipients are unproven'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l again -d 'Store data again whose packs a check found missing or damaged, if the server still has it; REPORT is the output of `sealant backup check --json`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l provider -d 'How to take the copy of a running server [default: as the configuration says]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l full -d 'Store all pages again, even if an earlier backup has them'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l require-complete -d 'Exit with 4 if pages could not be proven because their key is not available'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l dry-run -d 'Show what would be backed up and what would not, and how the copy would be taken; store nothing'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l prometheus -d 'Also write metrics to this file, for node_exporter\'s textfile collector: how much waits on this host for the repository, and when logs were last lost' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l once -d 'Archive what the server has now, then exit'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l follow -d 'Keep archiving until a signal ends it; if the server or the repository fails, try again'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -f -a "show" -d 'Show what is archived, or the transactions near a time: which tables they changed and how, never values'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l host -d 'Host whose backups to use [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l restores -d 'File in which `sealant restore --record` has recorded restores' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l key-checks -d 'File in which `sealant backup keyring check --record` has recorded tests of copies of the keyring' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l repository -d 'Repository in a bucket' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l allow -d 'Give this principal this role (repeatable): host, host/NAME (only that host\'s backups), keeper, checker or restorer. A principal is an ARN at AWS and an access key at versitygw; it has no meaning at MinIO, whose policies belong to users' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l store -d 'Kind of store to write the policy for' -r -f -a "aws\t''
versitygw\t''
minio\t''"
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l host -d 'Host whose backups to prune [default: all hosts in the repository]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l allow-shrunk -d 'Prune even if a backup has less than half of the data of the one before it'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l allow-breaks -d 'Prune even if receipts are missing that no earlier prune removed'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l host -d 'Host whose backups to use [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l restores -d 'File in which `sealant restore --record` has recorded restores' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l allowed-signers -d 'File of the allowed signers; without it, signatures are not verified' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l max-age -d 'Exit with 3 if the newest good backup is older than this, such as 26h' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l html -d 'Also write an HTML report with a calendar to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l prometheus -d 'Also write metrics to this file, for node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l json -d 'Write JSON, a line for each host, to standard output instead of the table, or also to this file; the schema is in docs/schema' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l all-hosts -d 'Report on all hosts of the repository, as the keeper that the configuration names'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l host -d 'Host whose backups to use [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l identity -d 'File with age identities, one of which decrypts the manifest, which has these lists' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l files -d 'List the files and their lengths instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l keys -d 'List the keys that its encrypted files need instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l map -d 'List in which pack each part of each file is instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l config -d 'Configuration file, which `sealant backup init --help` describes' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l host -d 'Host whose backups to use [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l read-data -d 'Also decrypt and decompress everything, or only this percentage of the objects, which needs --state: each check continues where the one before stopped' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l identity -d 'File with age identities, one of which decrypts the backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l allowed-signers -d 'File of the allowed signers; without it, signatures are not verified' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l state -d 'File in which each check records the newest receipt and which objects it has read, for the next one' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l objects -d 'Compute SHA-256 of every object'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l require-complete -d 'Exit with 4 if signatures were not verified, or if a newer receipt may have been hidden'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -f -a "check" -d 'Check whether a copy of the keyring opens everything in a backup; only its manifest is read'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "init" -d 'Create the repository and the signing key, and prove that each recipient can decrypt'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "policy" -d 'Print a bucket policy that gives each role the access to the repository that it needs, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Remove backups that the retention rules do not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "report" -d 'Report how old the newest good backup is, what each backup holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "keyring" -d 'Check copies of the keyring, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "backup" -d 'Measure what a backup and a restore cost, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "judge" -d 'Judge the samples of an earlier measurement again'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "migrate" -d 'Measure how long it takes to copy tables into another server, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "oltp" -d 'Measure what encryption of tables, of all logs and of connections costs transactions'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this program and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk judge migrate oltp sst tls transfer verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l into -d 'Directory below which repositories and copies are made and removed [default: the directory for temporary files]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l before -d 'Older copy of DIR: also measure an incremental backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s S -l server-socket -d 'Unix socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot; mariadb-backup of that server is then measured, too' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s u -l server-user -d 'Account to log in with [default: from --server-defaults, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l server-defaults -d 'Read the account and the password only from this option file, group client, and options of mariadb-backup from its group mariabackup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l no-peers -d 'Measure only this program'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l sets -d 'Ciphers, separated by semicolons, each as CIPHER:BITS; 2014 stands for the eight of a well-known comparison, today for those in use now' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l sector-bytes -d 'Sizes of encryption sectors in bytes, separated by commas' -r -f -a "512\t''
1024\t''
2048\t''
4096\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l on -d 'Also measure on this disk or image, whose content is lost; needs root, cryptsetup, fio and device-mapper' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l patterns -d 'Loads for the disk, separated by commas [default: all]' -r -f -a "sequential-read\t''
sequential-write\t''
random-read\t''
random-write\t''
mixed\t''
fsync\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l disk-span -d 'How long `fio` runs each time: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l fio -d 'Path of `fio` [default: the one in PATH]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l span -d 'How long each arm of the processor part runs in each round; a number alone is in milliseconds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l no-queues -d 'Open volumes without dm-crypt\'s work queues'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l destroy-unknown-data -d 'Overwrite the disk even if it holds data that no known signature explains'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -l to -d 'Arm that the others are compared with [default: the first of each experiment]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -l by -d 'What arms are compared by' -r -f -a "rate\t'Work per second'
p95-latency\t'95th percentile of the latency, of arms with single operations'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from judge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l dir -d 'Directory below which servers and their data are made and removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l server -d 'Which installed server to start: mysql or mariadb, or one of them with the version that it must have, such as mysql97 [default: mariadb, or mysql if there is none]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l mysqld -d 'Server program to start [default: from PATH or /usr/sbin]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l tables -d 'Number of tables' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l rows -d 'Rows in each table' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -l no-peers -d 'Measure only this program'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l dir -d 'Directory below which servers and their data are made and removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l server -d 'Which installed server to start: mysql or mariadb, or one of them with the version that it must have, such as mysql97 [default: mariadb, or mysql if there is none]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l mysqld -d 'Server program to start [default: from PATH or /usr/sbin]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l server-option -d 'Option for all servers, such as --innodb-doublewrite=OFF (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l defaults-file -d 'Option file of a server, such as my.cnf, whose settings of InnoDB, logs, buffers and limits all servers get; paths, accounts, network, encryption and the size of the buffer pool are left out, with a warning' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l preset -d 'Settings to begin with, which the options below change' -r -f -a "quick\t'The tables of `webinar`, 2 s a run'
webinar\t'5 tables of 100,000 rows in memory, oltp_read_write of 2 clients, 60 s a run: the settings of a published comparison'
larger-than-memory\t'Data of four times the buffer pool, all rows accessed equally often: pages are read, written and decrypted'
commits\t'oltp_update_index of 4 clients: bound by commits'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l arms -d 'Arms to compare, separated by commas [default: clear,tde,tde+logs,socket,tcp,tls]' -r -f -a "clear\t''
tde\t''
tde+logs\t''
compressed\t''
compressed+tde\t''
tde-ctr\t''
rotation\t''
image\t''
luks\t''
socket\t''
tcp\t''
tls\t''
tls-p384\t''
tls-rsa2048\t''
tls-rsa3072\t''
tls-rsa4096\t''
tunnel\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l workload -d 'Script of sysbench whose statements the clients run [default: that of --preset]' -r -f -a "oltp_read_write\t''
oltp_read_only\t''
oltp_write_only\t''
oltp_point_select\t''
oltp_update_index\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l tables -d 'Number of tables [default: that of --preset]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rows -d 'Rows in each table [default: those of --preset]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l threads -d 'Numbers of clients, separated by commas; all experiments are run with each [default: that of --preset]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rate -d 'Transactions that begin per second, whether or not earlier ones are done [default: each client begins one when its last one is done]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l span -d 'How long each arm runs in each round, in ms or s, up to 60s [default: that of --preset]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l buffer-pool -d 'Size of each server\'s buffer pool, such as 1GiB [default: that of --preset]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l driver -d 'Program whose clients run the transactions' -r -f -a "auto\t'sysbench if it is in PATH and can run the load, otherwise `own`; the report says which'
sysbench\t'sysbench 1.0 or newer: runs of whole seconds, without --rate'
own\t'This program, with the statements and the distribution of rows of sysbench 1.0'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l uniform -d 'Access all rows equally often, not mostly one row in a hundred as sysbench does'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l into -d 'Directories below which clusters are made and removed, separated by commas' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l mariadbd -d 'Server program to start' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l provider -d 'Library of the Galera provider' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l methods -d 'State transfer methods, separated by commas' -r -f -a "rsync\t'Blocks the donor during the copy; in plaintext'
mariabackup\t'Through socat with TLS; both sides verify the other\'s certificate'
sealant\t'This program'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l rounds -d 'Number of rounds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l server-option -d 'Option for all servers, such as --innodb-buffer-pool-size=1G (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l server-program -d 'Server program to start [default: `mariadbd` or `mysqld`, from PATH or /usr/sbin]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l round-trips -d 'Round-trip times to simulate, in milliseconds, separated by commas' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l sizes -d 'Sizes of results to measure, in bytes or with k, M or G, separated by commas' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l oltp -d 'Also measure transactions of sysbench (oltp_read_write) with this many clients; sysbench must be installed' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l into -d 'Directory for the server\'s files [default: the directory for temporary files]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l span -d 'How long each arm runs in each round; a number alone is in milliseconds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l no-peers -d 'Measure only this program and the server\'s own TLS'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l into -d 'Directory in which copies are made and removed [default: the directory for temporary files]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l rounds -d 'Number of rounds [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l budget -d 'Time for all rounds: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l peers -d 'Other tools to compare with, separated by commas [default: those whose programs are installed]' -r -f -a "cp\t''
tar-socat\t''
tar-socat-tls\t''
tar-zstd-socat-tls\t''
tar-age-socat\t''
rsync\t''
rsync-parallel\t''
mariabackup-socat-tls\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l rate -d 'Copy over a link with this bandwidth, such as 1Gbit, between two network namespaces; needs root, iproute2, and veth and sch_tbf in the kernel. `cp` is left out, since it uses no network' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l streams -d 'Number of connections that carry data [default: as for `sealant send`]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l compress -d 'Compression of `sealant send`; several, separated by commas, are compared with each other [default: as for `sealant send`]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s S -l server-socket -d 'Unix socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot; mariadb-backup of that server is then measured, too' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s u -l server-user -d 'Account to log in with [default: from --server-defaults, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l server-defaults -d 'Read the account and the password only from this option file, group client, and options of mariadb-backup from its group mariabackup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l no-peers -d 'Measure only this program'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l peers-without-aes -d 'Measure tools that use OpenSSL a second time without the processor\'s AES instructions (x86-64)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l rounds -d 'Number of rounds of each experiment [default: until the intervals are narrow]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l budget -d 'Time for each experiment: seconds, or with ms, s, m, h or d' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l innochecksum -d 'Path of `innochecksum` of MariaDB or MySQL (repeatable) [default: the one in PATH, if any]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l inno -d 'Path of `inno` of the crate innodb-utils [default: the one in PATH, if any]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l fio -d 'Path of `fio`, for --cold [default: the one in PATH, if any]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l cold -d 'Read from disk instead of the page cache'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Measure what a backup and a restore cost, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "judge" -d 'Judge the samples of an earlier measurement again'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "migrate" -d 'Measure how long it takes to copy tables into another server, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "oltp" -d 'Measure what encryption of tables, of all logs and of connections costs transactions'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this program and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "renew" -d 'Issue certificates again, with the same names, use and key, and new dates'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l dir -d 'Directory of the authority; if it does not exist, it is created, accessible only to its owner' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l subject -d 'Name of the authority, as it appears in certificates [default: Sealant private CA and a random number]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l days -d 'Validity in days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l key-type -d 'Kind of the authority\'s key' -r -f -a "ecdsa-p256\t'ECDSA on P-256'
ecdsa-p384\t'ECDSA on P-384'
rsa2048\t'RSA, 2048 bits'
rsa3072\t'RSA, 3072 bits'
rsa4096\t'RSA, 4096 bits'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l replace -d 'Replace an existing authority; certificates that it has issued are no longer trusted then'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l dir -d 'Directory of the authority' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l name -d 'Name of the certificate and of its files; a host name or address is also the first name in it' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l san -d 'Further host names and addresses in the certificate, separated by commas' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l days -d 'Validity in days, never longer than that of the authority' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l key-type -d 'Kind of the certificate\'s key; ECDSA makes the cheapest handshakes' -r -f -a "ecdsa-p256\t'ECDSA on P-256'
ecdsa-p384\t'ECDSA on P-384'
rsa2048\t'RSA, 2048 bits'
rsa3072\t'RSA, 3072 bits'
rsa4096\t'RSA, 4096 bits'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l usage -d 'Permitted use of the certificate' -r -f -a "both\t'By clients and servers'
server\t'Only by servers'
client\t'Only by clients'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l replace -d 'Replace an existing certificate and key of that name'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from show" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l dir -d 'Check every certificate in an authority\'s directory, each with its key if that exists' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l endpoint -d 'Check the certificate that a running MySQL or MariaDB server presents' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l key -d 'Private key of the certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l ca -d 'CA certificates that it must chain to, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l client-name -d 'Host name or address that the certificate must contain (repeatable) [default: the host of --endpoint]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l warn -d 'Warn if a certificate expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l critical -d 'Report as critical if a certificate expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l monitor -d 'Print one line, and exit with the codes of monitoring plug-ins'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l dir -d 'Directory of the authority' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l name -d 'Renew the certificate with this name' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l within -d 'Renew every certificate that expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l days -d 'Validity in days [default: 397; for the authority 3650]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l ca -d 'Renew the authority itself; certificates that it has issued stay valid'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l new-key -d 'Also make new keys'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l cert -d 'New certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l key -d 'Private key of the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l ca -d 'CA certificates that have issued the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l client-name -d 'Host name or address that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l outside -d 'Where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l log -d 'Append every statement that changes something to this file before it is sent [default: statements.jsonl in the state directory: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l keep-ca -d 'Do not change the server\'s file of CA certificates'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l trust-old-ca -d 'Keep the CA certificates that the server trusts now beside the new ones, so that it still accepts their clients'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l skip-checks -d 'Do not check the certificate first; if the server refuses it or the handshake fails, it is rolled back'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "renew" -d 'Issue certificates again, with the same names, use and key, and new dates'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand checks" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l dir -d 'Directory below which servers and their data are made and removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l minutes -d 'Time limit for everything, in minutes' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l hours -d 'Time limit for everything, in hours' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l parts -d 'Parts to measure, separated by commas [default: all]' -r -f -a "in-memory\t''
larger-than-memory\t''
commits\t''
connections\t''
copies\t''
joins\t''
disk\t''"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l mysqld -d 'Server program to start [default: `mariadbd`, or else `mysqld`, from PATH or /usr/sbin]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l rows -d 'Rows in each of the five tables; if a server is named, its data is scaled down to as many bytes' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l html -d 'Also write an HTML report with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l markdown -d 'Also write the report to this file, as Markdown without charts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l raw -d 'Also write every sample to this file, as JSON Lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from compare" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l for -d 'How long to observe the server, with s or m' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l calibration -d 'Take the cost of single operations from this report, which `sealant cost --format json` wrote on the server\'s machine' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l policy -d 'What to encrypt' -r -f -a "all\t'Tables and logs'
tables\t'Tablespaces, and the defaults for new ones'
logs\t'Redo, undo, binary and relay logs'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l schema -d 'Only the tables of this schema (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l method -d 'How to encrypt tables on MySQL' -r -f -a "auto\t'The server\'s own copy if it fits into --lock-budget, else gh-ost or pt-online-schema-change'
native\t'The server\'s own copy, however long writers wait'
gh-ost\t'gh-ost where it can be used, else the server\'s own copy if it fits into --lock-budget'
pt-osc\t'Like gh-ost, but with pt-online-schema-change'
rebuild-replica\t'The server\'s own copy, on a read-only replica that then takes over from the source'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-budget -d 'How long writers may wait for the copy of a table; tables that take longer are left to gh-ost or pt-online-schema-change, or are skipped if neither can be used' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l largest-table -d 'Skip tables larger than this, in MiB; writes to a table wait while it is copied' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l keyring-copy -d 'Copy of the keyring, or the configuration of the Vault, the KMIP service or AWS KMS that has the keys, which must open everything before anything is changed (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l option-file -d 'Add settings that the server cannot persist itself (MariaDB, MySQL 5.7, Percona Server 8.0) to this option file, which the server must read [default: the settings are only shown]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-wait -d 'How long a statement waits for the lock of a table; later statements on that table wait behind it, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-tries -d 'How many times to try for a lock, with pauses as long as --lock-wait in between' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l max-lag -d 'Wait while replication lags more than this, such as 5s, on this server if it is a replica, or on a --replica' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l replica -d 'Replica to check for --max-lag, as mysql://USER@HOST:PORT, with the same password and TLS options (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l throttle -d 'Wait while a status variable is higher, such as Threads_running=50 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l window -d 'Begin steps only in this part of the day, in local time, such as 01:00-05:00' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l replicated -d 'Confirm that all replicas have keyrings, so that changes by gh-ost and pt-online-schema-change may reach them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l purge-binlogs -d 'Remove binary logs that were written in plaintext, except those that a connected replica still reads; replicas that are not connected now must have read them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l policy -d 'What to encrypt' -r -f -a "all\t'Tables and logs'
tables\t'Tablespaces, and the defaults for new ones'
logs\t'Redo, undo, binary and relay logs'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l schema -d 'Only the tables of this schema (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l method -d 'How to encrypt tables on MySQL' -r -f -a "auto\t'The server\'s own copy if it fits into --lock-budget, else gh-ost or pt-online-schema-change'
native\t'The server\'s own copy, however long writers wait'
gh-ost\t'gh-ost where it can be used, else the server\'s own copy if it fits into --lock-budget'
pt-osc\t'Like gh-ost, but with pt-online-schema-change'
rebuild-replica\t'The server\'s own copy, on a read-only replica that then takes over from the source'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-budget -d 'How long writers may wait for the copy of a table; tables that take longer are left to gh-ost or pt-online-schema-change, or are skipped if neither can be used' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l largest-table -d 'Skip tables larger than this, in MiB; writes to a table wait while it is copied' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l keyring-copy -d 'Copy of the keyring, or the configuration of the Vault, the KMIP service or AWS KMS that has the keys, which must open everything before anything is changed (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l option-file -d 'Add settings that the server cannot persist itself (MariaDB, MySQL 5.7, Percona Server 8.0) to this option file, which the server must read [default: the settings are only shown]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-wait -d 'How long a statement waits for the lock of a table; later statements on that table wait behind it, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-tries -d 'How many times to try for a lock, with pauses as long as --lock-wait in between' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l max-lag -d 'Wait while replication lags more than this, such as 5s, on this server if it is a replica, or on a --replica' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l replica -d 'Replica to check for --max-lag, as mysql://USER@HOST:PORT, with the same password and TLS options (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l throttle -d 'Wait while a status variable is higher, such as Threads_running=50 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l window -d 'Begin steps only in this part of the day, in local time, such as 01:00-05:00' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l log -d 'Append every statement that changes something to this file before it is sent [default: statements.jsonl in the state directory: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l html -d 'Also write an HTML report for auditors to this file: what was done and proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the run\'s state, which the other commands of `sealant encrypt` read [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l replicated -d 'Confirm that all replicas have keyrings, so that changes by gh-ost and pt-online-schema-change may reach them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l purge-binlogs -d 'Remove binary logs that were written in plaintext, except those that a connected replica still reads; replicas that are not connected now must have read them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l state-dir -d 'Directory of the run\'s state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l forget -d 'Remove the state of runs that have ended: of SERVER, or of all'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from pause" -l state-dir -d 'Directory of the run\'s state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from resume" -l state-dir -d 'Directory of the run\'s state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from cancel" -l state-dir -d 'Directory of the run\'s state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read the keyring, and that it opens every encrypted file'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, in a file or a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l config -d 'Option file of the server: for a stopped server, the one that names its data directory; for MariaDB, the one to add the options to [default for MariaDB: the one that the running server was started with, or a new file in the directory that it includes]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server or its option file names' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l keyring-file -d 'Path of the keyring or key file [default: beside the data directory, such as /var/lib/mysql-keyring/keyring]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l key-password-file -d 'Path of the password file of MariaDB\'s key file [default: beside the key file]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l keys -d 'Number of keys in MariaDB\'s key file; the server reads it only at startup, so spare keys save a restart later' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l plugin-dir -d 'Directory of the server\'s components and plug-ins, if it is not found' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l daemon-dir -d 'Directory of mysqld, if it is not found' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l inside-datadir -d 'Accept a keyring inside the data directory: whoever copies that directory also has the keys'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l keyring -d 'Path of the server\'s keyring or key file on this host, if it differs from the path that the server reports; or the configuration of the Vault, the KMIP service or AWS KMS that has its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l keyring-copy -d 'Copy of the keyring or key file, or the configuration of a service with the keys, which must open everything, too (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l log -d 'Append every statement that changes something to this file before it is sent [default: statements.jsonl in the state directory: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l write-test -d 'Make the server create and drop an encrypted table, which creates its first key'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read the keyring, and that it opens every encrypted file'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, in a file or a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l keyring -d 'Path of the server\'s keyring or key file on this host, if it differs from the path that the server reports; or the configuration of the Vault, the KMIP service or AWS KMS that has its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l backup -d 'Also examine this backup of a data directory for the keys that its files require (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l forget-backup -d 'Remove this backup, which no longer exists, from the register (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l state-dir -d 'Directory of the key register, which holds names and dates, never keys [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l record -d 'Record in the register what was found, and the backups that --backup names'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only if it is mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "header" -d 'Back up, compare, check, restore or repair a LUKS header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "key" -d 'List, add and rotate the keys of a volume, or provide one at boot'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l device-bytes -d 'Size of the disk with the header, in bytes [default: the size of FILE if it is a device]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l physical-block-bytes -d 'Physical block size of the disk, in bytes [default: as the system reports it, if FILE is a device]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l backup-of -d 'Judge FILE as a header backup of the volume on this device or in this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l fail-on -d 'Exit with 3 if a finding is at least this severe: info, low, medium, high, critical, or never' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "install" -d 'Write the lines of crypttab and fstab, and a drop-in for the server\'s unit'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "check" -d 'Prove that a reboot brings the server back, and report what would keep it down'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "remove" -d 'Remove what `boot install` wrote; the volume, its key and the immutable mount point stay as they are'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from close" -l unmount -d 'Unmount it first, which fails while any file in it is open'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from close" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l key-file -d 'File with the exact bytes of the key' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l filesystem -d 'File system to create in the volume' -r -f -a "ext4\t'ext4'
xfs\t'XFS'
none\t'None: for a raw tablespace, LVM, or an image'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l backups -d 'Directory for the header backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l sector-bytes -d 'Size of an encryption sector in bytes: 4096, or 512 for a file system with smaller blocks' -r -f -a "512\t''
1024\t''
2048\t''
4096\t''"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l key-bits -d 'Length of the volume key in bits: 512 is AES-256 in XTS mode, 256 is AES-128' -r -f -a "256\t''
512\t''"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l label -d 'Label of the volume' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l pbkdf2-iterations -d 'Derive the key with this many iterations of PBKDF2; 1000 are enough for a random key, and it then opens the volume at once [default: Argon2id, as cryptsetup measures it for a passphrase]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l make-key -d 'Create the file of --key-file, with a key of 64 random bytes'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l no-backup -d 'Do not save the header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l destroy-unknown-data -d 'Overwrite the disk even if it holds data that no known signature explains'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "backup" -d 'Save the header and the key slots of a volume in a new file'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "check" -d 'Show how a header backup relates to the volume: current, stale, of another volume key, of another volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "diff" -d 'Show the differences between two headers, of volumes or of backups'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "repair" -d 'Repair a volume whose re-encryption was interrupted at its end, so that cryptsetup cannot open it or would encrypt it twice'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "restore" -d 'Restore a header backup to its volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "add" -d 'Add a key to a volume, and prove that it opens the volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "list" -d 'List key slots, and show which of them the keys in files open'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "rotate" -d 'Replace the key in a file with a new random one, and prove that the old key opens nothing any more'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "serve" -d 'Write a key to standard output: from a file, such as on a USB stick, from HashiCorp Vault or from a program'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from mount" -l options -d 'Options of mount(8)' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from mount" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l name -d 'Name of the volume in /dev/mapper' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l key-file -d 'File with the exact bytes of a key that opens the volume; `-` is standard input [default: a prompt]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l strict -d 'Open with a copy of the header in memory, which is judged first, so that changes on disk in the meantime have no effect; refuse a header with any serious finding'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l no-queues -d 'Encrypt without dm-crypt\'s work queues, which is faster on disks that do not rotate'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l allow-discards -d 'Pass TRIM to the disk; an attacker then sees which blocks are in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l persistent -d 'Store --no-queues and --allow-discards in the header, for everyone who opens the volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l read-only -d 'Open read-only'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l option-file -d 'Read the paths from this option file, and ask no server (repeatable; later files take precedence)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l datadir -d 'Examine this data directory, and ask no server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l backup -d 'Directory with backups (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l disk -d 'New disk to encrypt' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l name -d 'Name of the volume in /dev/mapper' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l unit -d 'systemd unit of the server [default: the installed one, or else the usual one of the server that these files belong to]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l key-file -d 'File with the exact bytes of a key that opens the volume now and afterwards' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l other-key-file -d 'File with another key that must still open the volume afterwards (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l backups -d 'Directory for backups of the old and the new header' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l pbkdf2-iterations -d 'Derive the keys with this many iterations of PBKDF2; 1000 are enough for random keys [default: what cryptsetup measures for a passphrase]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l drop-other-keys -d 'Drop the slots of keys that are named neither by --key-file nor by --other-key-file'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l resume -d 'Resume an unfinished re-encryption'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only if it is mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "header" -d 'Back up, compare, check, restore or repair a LUKS header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "key" -d 'List, add and rotate the keys of a volume, or provide one at boot'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "run" -d 'Copy the tables while the source is in use, apply its changes, and compare every row'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "status" -d 'Show how far a migration is, even while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "pause" -d 'End the process that works on a migration, and let none begin until `sealant migrate resume`'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "resume" -d 'Let a paused migration go on; `sealant migrate run` continues it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "verify" -d 'Compare every row of both servers again while they are in use, and name the rows that differ'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "cutover" -d 'Stop writes at the source, apply and compare the last changes, and leave the target ready'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "fallback" -d 'Return to the source after a cut-over with --fallback: stop writes at the target, apply and compare the last changes'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "report" -d 'Show the proof of a migration: what was compared, when and at which position, how each table is encrypted, and how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay on both servers'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "abort" -d 'Give up a migration: leave the source writable as before, and remove the state at the target'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status pause resume verify cutover fallback report finish abort help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l until -d 'How far to go' -r -f -a "copied\t'Every row is copied, and every change since then applied once'
verified\t'Every row is compared as well'
forever\t'Changes are applied and compared until SIGINT or SIGTERM ends it'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l json -d 'Write events to standard output, one JSON object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no status line, and no messages except errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l json -d 'Write events to standard output, one JSON object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Show no status line, and no messages except errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l fence -d 'How to stop writes to the source; `lock-tables,accounts` and `lock-tables,external` are two fences, of which the first ends with the command' -r -f -a "read-only\t'SET GLOBAL super_read_only = ON; read_only on MariaDB'
lock-tables\t'LOCK TABLES, until the command ends'
accounts\t'ACCOUNT LOCK for each --fence-account, and an end to their sessions'
external\t'Something else has stopped writes, or --fence-program does'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l fence-account -d 'An account that writes, as USER@HOST: it is locked, and its sessions are ended (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l fence-program -d 'A program that stops writes: called with the argument `fence`, and with `lift` if the cut-over fails' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l on-switch -d 'After the switch, run this program with the argument `switched`, to lead clients to the target; SEALANT_SOURCE and SEALANT_TARGET are the addresses' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l max-blocked -d 'Longest time that writes are stopped; then give up, and make the source writable again' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l fallback -d 'After the cut-over, apply the target\'s changes to the source for this long, so that `sealant migrate fallback` can return to it; the command runs until then' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l watch -d 'After the cut-over, watch the source\'s log for this long, and end with 3 if anything changes a moved table there' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l accept-soft-fence -d 'Accept that clients can write to the source again when the command ends, and that nobody notices'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l json -d 'Write events to standard output, one JSON object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -s q -l quiet -d 'Show no status line, and no messages except errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l max-blocked -d 'Longest time that writes are stopped; then give up, and make the target writable again' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -l json -d 'Write events to standard output, one JSON object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -s q -l quiet -d 'Show no status line, and no messages except errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from fallback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l html -d 'Also write an HTML report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l proof -d 'Also write the proof to this file, as JSON Lines: each comparison, and a SHA-256 over all; the schema is in docs/schema' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l proof -d 'Write the proof to this file, as JSON Lines, before the state is removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l discard-proof -d 'Remove the proof without saving it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target -d 'Server, as mysql://USER@HOST:PORT; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l defaults-file -d 'Read the connection options and the passwords only from this option file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l schema -d 'Only the tables of this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l exclude -d 'Leave out tables whose SCHEMA.TABLE matches this pattern, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l encrypt -d 'Which tables to encrypt at the target; those that are encrypted at the source always are' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'
storage\t'None by itself: the service encrypts the target\'s storage, which --attest proves'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l accounts -d 'What to do with the accounts and roles of the source; a cut-over creates them' -r -f -a "report\t'A plan names them; none is created'
create\t'The cut-over creates them at the target, locked until the switch'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l attest -d 'With --encrypt storage: what the service says about the target, as the output of `aws rds describe-db-instances` or `describe-db-clusters` of the last day, JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l min-tls -d 'Oldest version of TLS to allow on both connections' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can then read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l tls-any-name -d 'Accept certificates of --source-tls-ca and --target-tls-ca that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l drop-tables -d 'Also drop the tables of the migration at the target'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Copy the tables while the source is in use, apply its changes, and compare every row'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show how far a migration is, even while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "pause" -d 'End the process that works on a migration, and let none begin until `sealant migrate resume`'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Let a paused migration go on; `sealant migrate run` continues it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Compare every row of both servers again while they are in use, and name the rows that differ'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "cutover" -d 'Stop writes at the source, apply and compare the last changes, and leave the target ready'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "fallback" -d 'Return to the source after a cut-over with --fallback: stop writes at the target, apply and compare the last changes'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "report" -d 'Show the proof of a migration: what was compared, when and at which position, how each table is encrypted, and how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay on both servers'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "abort" -d 'Give up a migration: leave the source writable as before, and remove the state at the target'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -l config -d 'Configuration file (TOML; see docs/monitor.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -l config -d 'Configuration file (TOML; see docs/monitor.md)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -l full -d 'Also read files and examine hosts'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from help" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l source -d 'Server whose data was copied, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l into -d 'Data directory of the new server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l role -d 'Role of the new server' -r -f -a "replica\t'A replica, by GTID and TLS'
group-member\t'A member of the source\'s replication group'
galera\t'Always refused: start a node of a Galera cluster with wsrep_sst_method=sealant instead'"
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l socket -d 'Unix socket of the new server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l local-user -d 'Account to log in with on the new server\'s socket' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l local-password-file -d 'Read the password of --local-user from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-user -d 'Account on the source for replication' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-password-file -d 'Read the password of --replication-user from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-ca -d 'CA certificates to trust for the source\'s certificate on the replication link, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l wait -d 'How long to wait until the new server has caught up' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-unverified-source -d 'Allow a replication link without --replication-ca: the new server then sends the password of --replication-user to whoever answers at the source\'s address'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l yes -d 'Run the statements, and wait until the new server has caught up'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l into -d 'Target directory, which must be empty or not exist' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l listen -d 'Address and port to listen on; port 0 is any free one' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l advertise -d 'Address of this host to put into the pairing code, if the sender does not reach it at its own addresses (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l streams -d 'Maximum number of connections from a sender' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l owner -d 'Owner of all files, by name or number [default: the numbers at the sender, if this program runs as root]' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l rekey -d 'Add a master key to this keyring of this server, a keyring file, component_keyring_file.cnf or component_keyring_vault.cnf, and wrap the keys of MySQL\'s encrypted files with it, so that the two servers share no master key. A keyring file is created if it does not exist, for MySQL 5.7 in the format of its plug-in. The sender needs its own keyring for this' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l prepare-with -d 'Program to prepare a backup that --provider mariabackup or xtrabackup has sent: mariabackup or xtrabackup of the version of the sender\'s server [default: the one in PATH]. It processes what the sender sent: root runs it as --owner, which must not be root' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l prepare-options -d 'Option file for that program, if tables in the backup are encrypted: plugin_load, plugin_dir and the location of the keys on this host. No option of the sender that names a library or a file is used' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l expiry -d 'How long to wait for the sender, and how long the pairing code is valid' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l timeout -d 'Give up if the sender is silent for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-cert -d 'This side\'s certificate and its chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-key -d 'Private key of this side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-ca -d 'CA certificates to trust for the other side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l allow -d 'Accept only senders whose certificate has this name (repeatable) [default: any certificate of --tls-ca]' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l report -d 'Also write a JSON report to this file at the end; the schema is in docs/schema' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l prometheus -d 'Also add this transfer to the totals in this file, for `sealant monitor` and node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l resume -d 'Resume an interrupted transfer; this is the default if the target holds one'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l restart -d 'Remove what an interrupted transfer left, and start again'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l no-prepare -d 'Do not prepare such a backup; exit with 3'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l json -d 'Write events to standard output, one JSON object per line'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l repository -d 'Repository: a directory, or s3://BUCKET/PREFIX' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l endpoint -d 'Address of the object store, `https://HOST:PORT` [default: that of AWS]' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l region -d 'Region of the bucket' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l ca -d 'CA certificates to trust for the store, PEM [default: those that the system trusts]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l credentials -d 'Credentials file in the format of AWS\'s tools, with mode 600 [default: the environment, else the machine\'s role]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l host -d 'Host whose backup to restore, if the repository has several' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l into -d 'Target directory, which must be empty or not exist' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l identity -d 'File with age identities, one of which decrypts the backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l allowed-signers -d 'File of the allowed signers, as `sealant backup init` prints it and `ssh-keygen -Y verify -f` reads it; without it, the signature is not verified' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l receipt -d 'SHA-256 of the receipt, as `sealant backup run` printed it; restores exactly this backup' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l base -d 'Directory of a stopped server or of an older restore that already has much of the backup: equal data is copied from there (without using space, if the file system can), and only the rest is fetched. It is not changed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l manifest -d 'Restore although the receipt is lost, from this manifest: hosts/NAME/manifests/NUMBER.age in the repository, or a copy of it. Nothing shows who wrote it, or whether it is the newest' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l scratch -d 'Restore into a new directory below this one, and remove it after the proof, to test the backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mysqld -d 'Server program, of the version of the backup or newer; it runs as the owner of the files' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l check-tables -d 'Check only this many tables, the largest first [default: all]' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove-option -d 'Option for that server that the files do not show, as in --prove-option=--lower-case-table-names=1 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove-limit -d 'Time limit for the recovery of that server' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-time -d 'After the restore, replay the archived binary logs (`sealant backup binlogs`) with the server of --mysqld: everything that was committed at or before this time, such as 2026-11-26T14:05:00Z' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-gtid -d 'Replay up to the transaction with this GTID, including it' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l before-gtid -d 'Replay up to the transaction with this GTID, excluding it' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-position -d 'Replay up to this position of the server\'s binary logs' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l binlog-receipt -d 'SHA-256 of the newest receipt of binary logs, as `sealant backup binlogs` printed it; with it, --to-end proves that none is hidden' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l rekey -d 'Keyring file of the server that will use the directory, or component_keyring_vault.cnf: new master keys are added to it, and wrap the keys of the files from then on; a file is created if it does not exist. Also needs the old keyring (--keyring), or --key-identity. MySQL only' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l key-identity -d 'File with age identities of the recipients in the section `keys` of the configuration: the backup has the keys of its files for them, so that --rekey needs no keyring of the server that was backed up' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l owner -d 'Owner of all files, by name or number [default: unchanged]' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l streams -d 'Number of threads' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l record -d 'Append the result to this file, as one line of JSON, for `sealant backup report --restores`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l salvage -d 'Restore although the manifest is lost or damaged: find the files in the packs that the receipt names. Owners, permissions, empty files and directories are not in packs, and files that were dropped since an earlier backup may come back'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l leave-out-links -d 'Restore without links that lead out of the directory; a warning names each. A server would follow them, so without this option a backup with such links is refused if a server is to start on it (--prove, point in time). Only older releases made such backups'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l dry-run -d 'Show what would be fetched and written, and whether the keys fit; restore nothing'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove -d 'After the restore, start a private server on the files, wait until it has recovered, check its tables, stop it, and verify every page. It reads no option file of the backup, and nobody can connect to it. The directory is recovered afterwards, so it is no longer identical to the backup'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-end -d 'Replay up to the end of the archive'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l json -d 'Write JSON to standard output, one object per line; the schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l mariadb-key-id -d 'MariaDB: move every table to the key with this number, which must exist in the key file' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l mariadb-new-version -d 'MariaDB with its keys in a Vault: write a new version of the key with this number, and copy every table that uses it; --keyring must name the option file of hashicorp_key_management' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l cert -d 'New certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l key -d 'Private key of the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l ca -d 'CA certificates that have issued the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l client-name -d 'Host name or address that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l outside -d 'Where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l keyring-backup -d 'Write the backup to this file, which must not exist yet' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l recipient -d 'Encrypt the backup to this X25519 recipient of age (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l recipients-file -d 'Encrypt the backup to the recipients in this file, one per line (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l identity -d 'Decrypt each backup again with the age identity in this file, as a further proof' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l keyring -d 'Path of the server\'s keyring or key file on this host, if it differs from the path that the server reports; or the configuration of the Vault, the KMIP service or AWS KMS that has its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l state-dir -d 'Directory of the key register, which holds names and dates, never keys [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l settle -d 'How long to wait until the server has written the re-wrapped keys to its files' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l lock-wait -d 'How long a statement waits for the lock of a table; later statements on that table wait behind it, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l lock-tries -d 'How many times to try for a lock, with pauses as long as --lock-wait in between' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l master-key -d 'Rotate the InnoDB master key, which wraps the keys of tablespaces and of the redo log'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l binlog-key -d 'Rotate the master key of binary and relay logs'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l redo -d 'Rotate the InnoDB master key, as --master-key does, and prove that a redo log file uses the new one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l data-keys -d 'Rotate the keys of tables and undo tablespaces themselves; every table is copied, and writes to it wait'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l certificate -d 'Replace the server\'s certificate and its key with --cert, --key and --ca'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l trust-old-ca -d 'Keep the CA certificates that the server trusts now beside the new ones, so that it still accepts their clients'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s S -l socket -d 'Unix socket of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s h -l host -d 'Host name or address of the server; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s P -l port -d 'Port of the server [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s u -l user -d 'Account to log in with [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read the connection options and the password only from this option file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls -d 'TLS mode [default: from the option file; else off on a socket, verify-ca with --tls-ca, and otherwise required]' -r -f -a "required\t'Encrypt, and do not check the certificate; the password itself is never sent'
verify-proof\t'Like required; the server also proves with the password\'s hash that the certificate is its own (MariaDB 11.4 and newer)'
verify-ca\t'Encrypt, and accept only a certificate that --tls-ca has issued'
verify-identity\t'Like verify-ca; the certificate must also contain the server\'s name'
off\t'No TLS; over TCP only with --insecure-plaintext-tcp'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-fingerprint -d 'Accept only a server whose certificate has this SHA-256 fingerprint, as `openssl x509 -fingerprint -sha256` prints it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-key -d 'Private key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l mariadb-key-id -d 'MariaDB: move every table to the key with this number, which must exist in the key file' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l mariadb-new-version -d 'MariaDB with its keys in a Vault: write a new version of the key with this number, and copy every table that uses it; --keyring must name the option file of hashicorp_key_management' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l cert -d 'New certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l key -d 'Private key of the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l ca -d 'CA certificates that have issued the new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l client-name -d 'Host name or address that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l outside -d 'Where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l keyring-backup -d 'Write the backup to this file, which must not exist yet' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l recipient -d 'Encrypt the backup to this X25519 recipient of age (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l recipients-file -d 'Encrypt the backup to the recipients in this file, one per line (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l identity -d 'Decrypt each backup again with the age identity in this file, as a further proof' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l datadir -d 'Path of the server\'s data directory on this host, if it differs from the path that the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l keyring -d 'Path of the server\'s keyring or key file on this host, if it differs from the path that the server reports; or the configuration of the Vault, the KMIP service or AWS KMS that has its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the key register, which holds names and dates, never keys [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l settle -d 'How long to wait until the server has written the re-wrapped keys to its files' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l lock-wait -d 'How long a statement waits for the lock of a table; later statements on that table wait behind it, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l lock-tries -d 'How many times to try for a lock, with pauses as long as --lock-wait in between' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l log -d 'Append every statement that changes something to this file before it is sent [default: statements.jsonl in the state directory: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l html -d 'Also write an HTML report for auditors to this file: what was done and proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l insecure-plaintext-tcp -d 'Allow --tls off over TCP: statements and results are then readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it; an impostor would learn it'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l master-key -d 'Rotate the InnoDB master key, which wraps the keys of tablespaces and of the redo log'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l binlog-key -d 'Rotate the master key of binary and relay logs'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l redo -d 'Rotate the InnoDB master key, as --master-key does, and prove that a redo log file uses the new one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l data-keys -d 'Rotate the keys of tables and undo tablespaces themselves; every table is copied, and writes to it wait'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l certificate -d 'Replace the server\'s certificate and its key with --cert, --key and --ca'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l trust-old-ca -d 'Keep the CA certificates that the server trusts now beside the new ones, so that it still accepts their clients'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask for confirmation'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l dry-run -d 'Show the plan; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l datadir -d 'Data directory of that server, in place of SOURCE' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -s S -l socket -d 'Unix socket of the server [default: the server is found by the files that it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l pid-file -d 'File with the process id of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l location -d 'Directory for the copy, on the file system of the data, or for the provider follow on any [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l max-freeze -d 'Maximum freeze of the server, such as 500ms; the providers lvm and zfs are not used if a write would probably wait longer' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l provider -d 'How to take the copy: auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best one that is safe here; the backup programs are only for `sealant send --live`' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -s u -l user -d 'Account to log in with at --socket, for the provider follow; it needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l backup-defaults -d 'Option file with the account for mariabackup or xtrabackup, if --provider names one of them' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l backup-program -d 'Path of mariabackup or xtrabackup [default: the one in PATH]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l streams -d 'Number of connections that carry data' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l compress -d 'Compression: auto, none, lz4, zstd (as zstd:3) or zstd:LEVEL (1 to 19); auto compresses more the slower the network is' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l bwlimit -d 'Maximum bytes per second on the network, such as 50MiB' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l include -d 'Send only files whose path matches this pattern, such as \'sakila/*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l exclude -d 'Do not send files whose path matches this pattern, nor anything below them (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l cipher -d 'Cipher of the data connections [default: the fastest one for both hosts]' -r -f -a "aes128\t'AES-128-GCM'
aes256\t'AES-256-GCM'
chacha20\t'ChaCha20-Poly1305'"
complete -c sealant -n "__fish_sealant_using_subcommand send" -l timeout -d 'Give up if the receiver is silent for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-cert -d 'This side\'s certificate and its chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-key -d 'Private key of this side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-ca -d 'CA certificates to trust for the other side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l report -d 'Also write a JSON report to this file at the end; the schema is in docs/schema' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l prometheus -d 'Also add this transfer to the totals in this file, for `sealant monitor` and node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l live -d 'Take a consistent copy of a running server\'s data directory, send it, and remove it, even after an error or a signal'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l resume -d 'Resume an interrupted transfer; this is the default if the target holds one'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s n -l dry-run -d 'Show what would be sent; send nothing'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l send-mariadb-key -d 'Also decrypt MariaDB\'s encrypted binary and relay logs, and send the receiver key 1 of the key file for that'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l json -d 'Write events to standard output, one JSON object per line'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "list" -d 'List the copies of a data directory, and whether a program is using them'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s S -l socket -d 'Unix socket of the server [default: the server is found by the files that it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l pid-file -d 'File with the process id of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l location -d 'Directory for copies, on the file system of the data, or for the provider follow on any [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l max-freeze -d 'Maximum freeze of the server, such as 500ms; the providers lvm and zfs are not used if a write would probably wait longer' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l provider -d 'How to take the copy: auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best one that is safe here; the backup programs are only for `sealant send --live`' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s u -l user -d 'Account to log in with at --socket, for the provider follow; it needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS, for the provider follow, which checks encrypted pages and the redo log with it (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s S -l socket -d 'Unix socket of the server [default: the server is found by the files that it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l pid-file -d 'File with the process id of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l location -d 'Directory for copies, on the file system of the data, or for the provider follow on any [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -s S -l socket -d 'Unix socket of the server [default: the server is found by the files that it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l pid-file -d 'File with the process id of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l location -d 'Directory for copies, on the file system of the data, or for the provider follow on any [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l stale -d 'Remove all copies that killed programs have left'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s S -l socket -d 'Unix socket of the server [default: the server is found by the files that it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l pid-file -d 'File with the process id of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l location -d 'Directory for copies, on the file system of the data, or for the provider follow on any [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l max-freeze -d 'Maximum freeze of the server, such as 500ms; the providers lvm and zfs are not used if a write would probably wait longer' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l provider -d 'How to take the copy: auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best one that is safe here; the backup programs are only for `sealant send --live`' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s u -l user -d 'Account to log in with at --socket, for the provider follow; it needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l password-file -d 'Read the password from this file; a line break at its end is ignored' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from watchdog" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the copies of a data directory, and whether a program is using them'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l for -d 'How long to watch; a signal (Ctrl-C) ends it earlier, with what was seen so far' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l interface -d 'Watch this network interface only' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l pcap -d 'Read the packets from this file, pcap or pcapng' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l port -d 'Watch this port (repeatable) [default: 3306, 33060, 33061, 33062, 4444, 4567 and 4568; with --pcap, all ports]' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l fail-on -d 'Exit with 3 if such traffic is seen' -r -f -a "clear\t'Traffic in clear text'
unknown\t'Traffic in clear text, or not recognised'
never\t'None'"
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "near" -d 'Run the end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "far" -d 'Run the end beside the server, which accepts near ends that the authority has certified'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l listen -d 'Listen for applications here (repeatable, or separated by commas); sockets from systemd, if any, come first' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l far -d 'Far end; of several, the first that works is used (repeatable, or separated by commas)' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-cert -d 'This end\'s certificate and its chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-key -d 'Private key of this end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-ca -d 'CA certificates to trust for the other end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l far-name -d 'Name that the far ends\' certificates must contain, if it is not the host in --far' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l socket-mode -d 'Permissions of the socket: whoever may write to it can try to log in to the server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l socket-group -d 'Group of the socket, by name or number, such as the applications\' group [default: that of the process]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-max -d 'Maximum number of server connections kept ready for applications' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-min -d 'Minimum number of server connections kept ready, even if no application has connected for long; the server counts those that are replaced as aborted' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-age -d 'Maximum age of a ready connection; half of the server\'s connect_timeout (10 s) is a good value' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l wait -d 'How long an application waits for a server connection before it gets an error' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l max-clients -d 'Maximum number of connections from applications' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l health-interval -d 'How often to try a far end again that has failed' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l connect-timeout -d 'Time limit for an answer of a far end' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l drain -d 'How long open sessions may go on after the tunnel is asked to stop' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l threads -d 'Number of threads; one handles about ten thousand new connections or one gigabyte per second [default: half of the cores, at least 1]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l metrics -d 'Serve metrics for Prometheus on this loopback address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l hide-tls -d 'Hide from applications that the server offers TLS, so that they do not encrypt again inside the tunnel'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l insecure-plaintext-listener -d 'Allow a port that other hosts can reach: passwords and data then cross the network in clear text up to here'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l listen -d 'Listen for near ends here (repeatable, or separated by commas); sockets from systemd, if any, come first' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server -d 'Server: path of its socket, or HOST:PORT; another host only with --server-tls-ca' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-cert -d 'This end\'s certificate and its chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-key -d 'Private key of this end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-ca -d 'CA certificates to trust for the other end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-ca -d 'Encrypt the connection to the server\'s port, and trust only these CA certificates, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-name -d 'Name that the server\'s certificate must contain, if it is not the host in --server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l allow -d 'Accept only near ends whose certificate has one of these names (repeatable, or separated by commas)' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l proxy-protocol -d 'Send the client\'s host to the server with the PROXY protocol' -r -f -a "v1\t'A line of text'
v2\t'Binary'"
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l warm-max -d 'Maximum number of server connections kept ready for the applications of one near end [default: as the near end says, but 16 where the server counts unused connections]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-links -d 'Maximum number of connections from near ends' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-handshakes -d 'Maximum number of simultaneous handshakes; beyond it, the oldest one that has not started or has taken over 2 s is closed, or else the new one' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-handshakes-per-address -d 'Maximum number of simultaneous handshakes from one address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l handshake-timeout -d 'Time limit of a handshake' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l connect-timeout -d 'Time limit for connecting to the server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l drain -d 'How long open sessions may go on after the tunnel is asked to stop' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l threads -d 'Number of threads; one handles about ten thousand new connections or one gigabyte per second [default: half of the cores, at least 1]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l metrics -d 'Serve metrics for Prometheus on this loopback address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-any-name -d 'Do not check the name in the server\'s certificate: those that MySQL generates have none'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l insecure-plaintext-server -d 'Allow an unencrypted connection to a server on another host, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "near" -d 'Run the end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "far" -d 'Run the end beside the server, which accepts near ends that the authority has certified'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l manifest -d 'Only check that every file is unchanged since `sealant receive` wrote this list of them, `sealant-manifest`; PATH is the directory, if it is not the one that contains FILE' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s j -l jobs -d 'Number of threads [default: one per processor]' -r
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l keyring -d 'MySQL\'s keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of a keyring in Vault, on a KMIP server or behind AWS KMS (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l keyring-config -d 'Configuration file of MySQL\'s keyring component: component_keyring_file, component_keyring_vault, component_keyring_kmip or component_keyring_kms' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l mariadb-key-file -d 'MariaDB\'s keys: the key file of file_key_management, or the option file with the settings of hashicorp_key_management or aws_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l mariadb-key-file-password-file -d 'File with the password of MariaDB\'s key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts; the schemas are in docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s o -l output -d 'Write the report to this file instead of standard output' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l html -d 'Also write an HTML report for auditors to this file: what was proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s v -l verbose -d 'List every file and every finding in the table'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s q -l quiet -d 'Show no status line on standard error'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "audit" -d 'Show what is still readable to someone who steals the disk or listens on the wire'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "backup" -d 'Make encrypted, signed backups of a data directory, and prove every page of them'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "bench" -d 'Measure what this program costs on this machine, compared with its alternatives'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "cert" -d 'Make certificates for tunnels, transfers and servers, watch when they expire, and install them without a restart'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "checks" -d 'List the checks of `audit`, or explain one'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "cost" -d 'Measure what encryption costs on this machine, layer by layer, and report what to choose'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "encrypt" -d 'Encrypt what a running server stores in plaintext, and prove it from the bytes'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "keyring" -d 'Give a server a keyring or key file, in a safe place with safe permissions, and prove that the server uses it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "keys" -d 'List every key that opens something on a server, where it is, and what still needs it; never the key itself'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "luks" -d 'Check, create, open and re-encrypt the encrypted disk below a data directory, and manage its keys and its header'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "migrate" -d 'Move the tables of a server into another one over SQL while they are in use, never less encrypted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "monitor" -d 'Audit a fleet again and again, and serve the results as a page and as metrics'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "provision" -d 'Make a server that runs on a copy of another server\'s data a replica or group member of that server'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "receive" -d 'Receive a data directory from another host'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "restore" -d 'Restore a backup into a directory, proven from the disk before it is moved into place'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "rotate" -d 'Give a running server new keys and certificates, and prove from the bytes and the wire that nothing is lost'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "send" -d 'Send a data directory to another host, encrypted and verified'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "snapshot" -d 'Take a consistent copy of a running server\'s data directory, of one instant for all files'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "sniff" -d 'Watch the packets of a server\'s ports, and tell from their bytes which connections are encrypted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "tunnel" -d 'Connect applications to a remote MySQL or MariaDB server over TLS 1.3, without a handshake for each connection'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "verify" -d 'Prove offline that every page can be decrypted with the given keys, or list what is damaged'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "sst" -d 'Galera\'s state transfer, as servers start it (wsrep_sst_method=sealant)'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "generate" -d 'Write man pages, completions, the reference of checks or what was run on which server'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "diff" -d 'Show what changed between two saved facts files: new, fixed, worse'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "init" -d 'Create the repository and the signing key, and prove that each recipient can decrypt'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "policy" -d 'Print a bucket policy that gives each role the access to the repository that it needs, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "prune" -d 'Remove backups that the retention rules do not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "report" -d 'Report how old the newest good backup is, what each backup holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "keyring" -d 'Check copies of the keyring, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "backup" -d 'Measure what a backup and a restore cost, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "judge" -d 'Judge the samples of an earlier measurement again'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "migrate" -d 'Measure how long it takes to copy tables into another server, compared with other tools'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "oltp" -d 'Measure what encryption of tables, of all logs and of connections costs transactions'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this program and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "renew" -d 'Issue certificates again, with the same names, use and key, and new dates'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cost" -f -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cost" -f -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read the keyring, and that it opens every encrypted file'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, in a file or a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only if it is mounted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "header" -d 'Back up, compare, check, restore or repair a LUKS header'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "key" -d 'List, add and rotate the keys of a volume, or provide one at boot'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "run" -d 'Copy the tables while the source is in use, apply its changes, and compare every row'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "status" -d 'Show how far a migration is, even while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "pause" -d 'End the process that works on a migration, and let none begin until `sealant migrate resume`'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "resume" -d 'Let a paused migration go on; `sealant migrate run` continues it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "verify" -d 'Compare every row of both servers again while they are in use, and name the rows that differ'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "cutover" -d 'Stop writes at the source, apply and compare the last changes, and leave the target ready'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "fallback" -d 'Return to the source after a cut-over with --fallback: stop writes at the target, apply and compare the last changes'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "report" -d 'Show the proof of a migration: what was compared, when and at which position, how each table is encrypted, and how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay on both servers'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "abort" -d 'Give up a migration: leave the source writable as before, and remove the state at the target'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from monitor" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from rotate" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from rotate" -f -a "run" -d 'Show the plan, ask for confirmation, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "list" -d 'List the copies of a data directory, and whether a program is using them'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from tunnel" -f -a "near" -d 'Run the end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from tunnel" -f -a "far" -d 'Run the end beside the server, which accepts near ends that the authority has certified'
