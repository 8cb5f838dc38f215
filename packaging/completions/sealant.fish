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
complete -c sealant -n "__fish_sealant_needs_command" -f -a "cert" -d 'Make certificates for tunnels, transfers and servers, monitor their dates, install them without a restart'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "checks" -d 'List the checks of `audit`, or explain one'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "cost" -d 'Measure what encryption costs on this machine, layer by layer, and report what to choose'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "encrypt" -d 'Encrypt what a running server stores in plaintext, and prove it from the bytes'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "keyring" -d 'Give a server a keyring or key file, in a safe place with safe modes, and prove that it uses it'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "keys" -d 'List every key that opens something on a server, where it is, and what still needs it; never the key itself'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "luks" -d 'The encrypted disk under a data directory: judge and create it, open it, rotate its keys, back up its header'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "migrate" -d 'Move the tables of a server into another one over SQL, while they are used, never less encrypted'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "monitor" -d 'Audit a fleet again and again, and serve the results as a page and as metrics'
complete -c sealant -n "__fish_sealant_needs_command" -f -a "provision" -d 'Make a server that runs on a copy of another server\'s data replicate from that server'
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
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l offline -d 'A data or backup directory, without a server: reads bytes only' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l facts -d 'Facts saved with --save, to judge them again' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l fleet -d 'Many servers, concurrently, in one report (TOML; see the user guide)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l backup -d 'A directory with dumps or backups to judge (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l keyring-copy -d 'A copy of MySQL\'s keyring file: prove that it alone decrypts everything (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l key-file-copy -d 'A copy of MariaDB\'s key file: prove that it alone decrypts everything (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l key-file-copy-password-file -d 'File with the password of the copied key file, if that is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l state-dir -d 'Directory of the key register, in which `sealant rotate` and `sealant keys` record dates and proven copies [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l client-name -d 'A name that clients use for this server; its certificate must contain it (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l option-file -d 'A further option file of the server or its clients to judge (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l fail-on -d 'Exit 3 when a failure is at least this severe: info, low, medium, high, critical, or never' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l waivers -d 'Failures that were accepted in writing, until a date (TOML; see the user guide)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l policy -d 'Limits of your site, such as the maximum age of keys (TOML; see the user guide)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l baseline -d 'Facts saved earlier: changes since then become the finding ev-drift' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l check -d 'Run only this check (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l format -d 'Format of the main output: table, json, sarif, junit, csv, markdown, html, prometheus' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s o -l output -d 'Write the main output to this file instead of standard output' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l html -d 'Also write a report as one self-contained HTML file (repeatable, like the next options)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l json -d 'Also write JSON' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l sarif -d 'Also write SARIF 2.1.0' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l junit -d 'Also write JUnit XML' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l csv -d 'Also write CSV' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l markdown -d 'Also write Markdown' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l prometheus -d 'Also write a Prometheus textfile' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l write-waivers -d 'Also write a skeleton of waivers for all failures, without reasons: fill in why each is accepted, by whom and until when, delete the others, and pass it with --waivers' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l write-fixes -d 'Also write a shell script with the fixes, for one server. It sets variables; all else in it is commented out' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l save -d 'Save the facts, to judge them again with --facts or compare them with `audit diff`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l only -d 'Show only failures that are at least this severe in the table: low, medium, high or critical' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l color -d 'Colour of the table; auto: on a terminal, unless NO_COLOR is set' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l deep -d 'Read every page of every file instead of a sample, and decrypt it with the keys found, as `sealant verify` does'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-files -d 'Do not read the server\'s files'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-wire -d 'Do not probe the server\'s ports'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l no-host -d 'Do not examine the host: disks, process, option files'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l require-complete -d 'Exit 4 when something could not be judged'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s v -l verbose -d 'Show all findings in the table, passed ones too'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l summary -d 'Show only the map, the servers and the totals in the table'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -a "diff" -d 'Show what changed between two saved facts files: new, fixed, worse'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and not __fish_seen_subcommand_from diff help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -l fail-on -d 'Exit 3 when a new or worse failure is at least this severe' -r
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Show what changed between two saved facts files: new, fixed, worse'
complete -c sealant -n "__fish_sealant_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "init" -d 'Create the repository and the signing key, where they do not exist yet, and prove the recipients'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "policy" -d 'Print the policy of a bucket: who may do what with the repository, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "prune" -d 'Remove backups that retention does not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "report" -d 'Report how old the newest good backup is, what each one holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "keyring" -d 'Keyrings for backups, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and not __fish_seen_subcommand_from init run binlogs list policy prune report show check keyring help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l answer -d 'The word that was decrypted with the identity of a recipient (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l challenges -d 'Write the encrypted words to this directory, too, as age files to be copied to the machine with the identity' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -l unproven-recipient -d 'Exit with 0 even if nobody has proven possession of the identity of a recipient'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l again -d 'Store again what the last backup has in packs that this report of a check (`sealant backup check --json`) lists as missing or damaged, if the server still has it' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l provider -d 'How to take the copy of a running server, instead of as the configuration says' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l full -d 'Store all pages again, even if an earlier backup has them'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l require-complete -d 'End with 4 if pages could not be proven because their key is not available'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l dry-run -d 'Show what would be backed up, what not, and how the copy would be taken; store nothing'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l prometheus -d 'Write to this file how much waits on this host for the repository, for node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l once -d 'Archive what the server has now, and end'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l follow -d 'Go on until a signal ends it; a server or repository that fails is tried again'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -f -a "show" -d 'Show what is archived, or the transactions near a time: their tables and kinds of changes, never values'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from binlogs" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l host -d 'Backups of this host [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l repository -d 'The repository' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l allow -d 'Who has which role (repeatable): host, host/NAME (that host\'s backups only), keeper, checker or restorer. The principal is an ARN at AWS, an access key at versitygw, and anything at MinIO, whose policies belong to users' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -l store -d 'Store for which the policy is written' -r -f -a "aws\t''
versitygw\t''
minio\t''"
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l host -d 'Only the backups of this host [default: all hosts of the repository]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l allow-shrunk -d 'Prune even if a backup has less than half of the data of the one before it'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l allow-breaks -d 'Prune even if receipts are missing that no earlier prune removed'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l host -d 'Backups of this host [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l restores -d 'File of restores, as recorded by `sealant restore --record`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l allowed-signers -d 'File of the accepted signers; without it, signatures are not judged' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l max-age -d 'End with 3 if the newest good backup is older than this, such as 26h' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l html -d 'Write a page with a calendar to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l prometheus -d 'Write metrics to this file, for node_exporter\'s textfile collector' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l host -d 'Backups of this host [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l identity -d 'File of age identities that opens the manifest, which has these lists' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l files -d 'List the files, with their lengths, instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l keys -d 'List what its files need keys for, instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l map -d 'List in which pack each part of each file is, instead'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l config -d 'The configuration' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l host -d 'Backups of this host [default: the host in the configuration]' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l read-data -d 'Also decrypt and decompress everything, or this percentage of the packs: with --state, each check resumes where the one before ended' -r
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l identity -d 'File of age identities, for --read-data' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l allowed-signers -d 'File of the accepted signers; without it, signatures are not judged' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l state -d 'File that remembers between checks the newest receipt, and which packs were read' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l objects -d 'Compute SHA-256 of every object'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l require-complete -d 'End with 4 if signatures were not judged, or if a newer receipt may have been hidden'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -f -a "check" -d 'Check, from a manifest alone, whether a copy of the keys opens a backup'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from keyring" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "init" -d 'Create the repository and the signing key, where they do not exist yet, and prove the recipients'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "policy" -d 'Print the policy of a bucket: who may do what with the repository, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Remove backups that retention does not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "report" -d 'Report how old the newest good backup is, what each one holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "keyring" -d 'Keyrings for backups, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "backup" -d 'Measure what a backup and a restore cost, against what people use today'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "oltp" -d 'Measure what encryption costs transactions: of tables, of all logs, of connections'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and not __fish_seen_subcommand_from backup disk oltp sst tls transfer verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l into -d 'Directory below which repositories and copies are made and removed; default: the one for temporary files' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l before -d 'An older copy of DIR: measure an incremental backup, too' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s S -l server-socket -d 'Socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot: also measure `mariabackup-socat-tls`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s u -l server-user -d 'The account [default: from --server-defaults, or the name of the user who runs this]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l server-defaults -d 'The only option file to read for it: the password in the group client, options of the program in the group mariabackup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l rounds -d 'Rounds of each experiment; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l budget -d 'Time for each experiment: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -l no-peers -d 'Measure this program alone'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l sets -d 'Ciphers: CIPHER:BITS; `2014` for the eight of a well-known comparison, `today` for those in use now' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l sector-bytes -d 'Sizes of encryption sectors in bytes' -r -f -a "512\t''
1024\t''
2048\t''
4096\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l on -d 'Also measure on this disk or image; its content is lost; needs root, cryptsetup, fio and device-mapper' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l patterns -d 'Loads for the disk' -r -f -a "sequential-read\t''
sequential-write\t''
random-read\t''
random-write\t''
mixed\t''
fsync\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l disk-span -d 'How long `fio` runs each time: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l fio -d '`fio`; default: the one in PATH' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l span -d 'How long each arm of the processor part runs in each round; a number alone is milliseconds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l rounds -d 'Rounds of each experiment; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l budget -d 'Time for each experiment: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l no-queues -d 'Open volumes without work queues'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l destroy-unknown-data -d 'Overwrite data on the disk that no known signature explains, such as leftovers of an earlier measurement'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from disk" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l dir -d 'Directory below which servers and their data are made and removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l server -d 'Which installed server to start; default: MariaDB, or MySQL if there is none' -r -f -a "mysql\t'`mysqld`'
mariadb\t'`mariadbd`'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l mysqld -d 'The server program to start; default: from PATH or /usr/sbin' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l server-option -d 'An option for all servers, such as --innodb-doublewrite=OFF (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l preset -d 'Settings to begin with; the options below change single ones' -r -f -a "quick\t'The tables of `webinar`, 5 s a run'
webinar\t'5 tables of 100,000 rows in memory, oltp_read_write of 2 clients, 60 s a run: the settings of a published comparison'
larger-than-memory\t'Data of four times the buffer pool, all rows accessed equally often: pages are read, written and decrypted'
commits\t'oltp_update_index of 4 clients: bound by commits'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l arms -d 'What to compare, separated by commas; default: everything' -r -f -a "clear\t''
tde\t''
tde+logs\t''
socket\t''
tcp\t''
tls\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l workload -d 'Script of sysbench whose statements clients run' -r -f -a "oltp_read_write\t''
oltp_read_only\t''
oltp_write_only\t''
oltp_point_select\t''
oltp_update_index\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l tables -d 'Number of tables' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rows -d 'Rows in each table' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l threads -d 'Number of clients' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rate -d 'Transactions that begin per second, whether or not earlier ones are done; default: each client begins one when the last is done' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l span -d 'How long each arm runs in each round, with s or ms, up to 60s' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l buffer-pool -d 'Size of each server\'s buffer pool' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l rounds -d 'Rounds of each experiment; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l budget -d 'Time for each experiment: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -l uniform -d 'Access all rows equally often; otherwise mostly one row in a hundred, as sysbench does'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from oltp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l into -d 'Directories below which clusters are made and removed, separated by commas' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l mariadbd -d 'The server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l provider -d 'The Galera provider' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l methods -d 'Methods, separated by commas' -r -f -a "rsync\t'Blocks the donor during the copy; in plaintext'
mariabackup\t'Through socat with TLS; both sides verified by an authority'
sealant\t'This program'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l rounds -d 'Rounds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l server-option -d 'An option for all servers, such as --innodb-buffer-pool-size=1G (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from sst" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l server-program -d 'The server program to start; default: `mariadbd` or `mysqld`, from PATH or /usr/sbin' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l round-trips -d 'Round trips to measure at, in milliseconds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l sizes -d 'Sizes of results to measure, in bytes, or with k, M or G' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l oltp -d 'Also measure transactions of sysbench (oltp_read_write) with this many clients; sysbench must be installed' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l into -d 'Directory for the server\'s files; default: the one for temporary files' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l span -d 'How long each arm runs in each round; a number alone is milliseconds' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l rounds -d 'Rounds of each experiment; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l budget -d 'Time for each experiment: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -l no-peers -d 'Measure only this program and the server\'s own TLS'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from tls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l into -d 'Directory in which copies are made and removed; default: the one for temporary files' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l rounds -d 'Rounds; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l budget -d 'Time for all rounds: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l peers -d 'Peers, separated by commas; default: those whose programs are installed' -r -f -a "cp\t''
tar-socat\t''
tar-socat-tls\t''
tar-zstd-socat-tls\t''
tar-age-socat\t''
rsync\t''
rsync-parallel\t''
mariabackup-socat-tls\t''"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l rate -d 'Over a link with this bandwidth, such as 1Gbit, between two network namespaces; needs root, iproute2, and veth and sch_tbf in the kernel. `cp` is left out, since it uses no network' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l streams -d 'Number of connections of `sealant send`; default: as without this option' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l compress -d 'Compression of `sealant send`; default: as without this option. Several, separated by commas, are compared with each other' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s S -l server-socket -d 'Socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot: also measure `mariabackup-socat-tls`' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s u -l server-user -d 'The account [default: from --server-defaults, or the name of the user who runs this]' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l server-defaults -d 'The only option file to read for it: the password in the group client, options of the program in the group mariabackup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l no-peers -d 'Measure only this program'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -l peers-without-aes -d 'Measure peers that use OpenSSL again without the processor\'s AES instructions (x86-64)'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from transfer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l rounds -d 'Rounds of each experiment; default: until the intervals are narrow' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l budget -d 'Time for each experiment: seconds, or with s, m or h' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l innochecksum -d '`innochecksum` of MariaDB or MySQL (repeatable); default: the one in PATH, if any' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l inno -d '`inno` of the crate innodb-utils; default: the one in PATH, if any' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l fio -d '`fio`, for --cold; default: the one in PATH, if any' -r
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -l cold -d 'From disk instead of the page cache'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Measure what a backup and a restore cost, against what people use today'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "oltp" -d 'Measure what encryption costs transactions: of tables, of all logs, of connections'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "renew" -d 'Issue certificates again: same names, same use, same key, new dates'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and not __fish_seen_subcommand_from init issue show check renew install help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l dir -d 'Directory of the authority; created, accessible only to its owner, if it does not exist' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l subject -d 'Name of the authority, as it appears in certificates [default: Sealant private CA and a random number]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l days -d 'How long it is valid, in days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l key-type -d 'Kind of its key' -r -f -a "ecdsa-p256\t'ECDSA on P-256'
ecdsa-p384\t'ECDSA on P-384'
rsa2048\t'RSA, 2048 bits'
rsa3072\t'RSA, 3072 bits'
rsa4096\t'RSA, 4096 bits'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -l replace -d 'Replace an existing authority: certificates it has issued become worthless'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l dir -d 'The authority\'s directory' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l name -d 'Name of the certificate and of its files; if it is a host name or address, it is also the first name in it' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l san -d 'Further host names and addresses it is for, separated by commas' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l days -d 'How long it is valid, in days; never longer than the authority' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l key-type -d 'Kind of its key; ECDSA makes the cheapest handshakes' -r -f -a "ecdsa-p256\t'ECDSA on P-256'
ecdsa-p384\t'ECDSA on P-384'
rsa2048\t'RSA, 2048 bits'
rsa3072\t'RSA, 3072 bits'
rsa4096\t'RSA, 4096 bits'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l usage -d 'Permitted use' -r -f -a "both\t'By clients and servers'
server\t'Only by servers'
client\t'Only by clients'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -l replace -d 'Replace a certificate and key of that name'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from issue" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from show" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l dir -d 'Every certificate in an authority\'s directory, each with its key if that exists' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l endpoint -d 'The certificate that a running MySQL or MariaDB server serves' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l key -d 'The certificate\'s key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l ca -d 'The authority it must chain to, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l client-name -d 'A name or address that it must contain (repeatable) [default: the host of --endpoint]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l warn -d 'Warn if it expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l critical -d 'Critical if it expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -l monitor -d 'One line, and the exit codes of monitoring plug-ins'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l dir -d 'The authority\'s directory' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l name -d 'The certificate with this name' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l within -d 'Every certificate that expires within this many days' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l days -d 'How long the new certificates are valid [default: 397; the authority: 3650]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l ca -d 'The authority itself: certificates it has issued stay valid'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -l new-key -d 'Make new keys, too'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l cert -d 'The new certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l key -d 'Its key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l ca -d 'Its authority, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l client-name -d 'A name that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l outside -d 'Where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l log -d 'Append every statement that changes something to this file, before it is sent [default: statements.jsonl in the directory for state: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l keep-ca -d 'Do not change the server\'s file of authorities'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l trust-old-ca -d 'Keep trusting clients with certificates of the old authorities'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l skip-checks -d 'Do not judge the certificate first: if the server or the handshake refuses it, it is rolled back'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from install" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "renew" -d 'Issue certificates again: same names, same use, same key, new dates'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand cert; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand checks" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l dir -d 'Directory below which servers and their data are made and removed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l minutes -d 'Time for everything, in minutes' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l hours -d 'Time for everything, in hours' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l parts -d 'What to measure, separated by commas; default: everything' -r -f -a "in-memory\t''
larger-than-memory\t''
commits\t''
connections\t''
disk\t''"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l mysqld -d 'The server program to start; default: `mariadbd`, or `mysqld`, from PATH or /usr/sbin' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l rows -d 'Rows in each of the five tables' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l html -d 'Write a page with charts to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l markdown -d 'Write the layers and the advice to this file, as Markdown' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -l raw -d 'Write every sample to this file, as JSON lines' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -f -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -f -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and not __fish_seen_subcommand_from compare predict help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from compare" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l for -d 'How long to observe the server, with s or m' -r
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l calibration -d 'Take the cost of single operations from this report, which `sealant cost --format json` wrote on the server\'s machine' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from predict" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand cost; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and not __fish_seen_subcommand_from plan run status pause resume cancel help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l policy -d 'What to encrypt' -r -f -a "all\t'Tables and logs'
tables\t'Tablespaces, and the defaults for new ones'
logs\t'Redo, undo, binary and relay logs'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l schema -d 'Only tables of this schema (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l method -d 'How tables are encrypted on MySQL' -r -f -a "auto\t'The server\'s own copy if it fits into --lock-budget, else gh-ost or pt-online-schema-change'
native\t'The server\'s own copy, however long writers wait'
gh-ost\t'gh-ost where it can be used, else the server\'s own copy if it fits into --lock-budget'
pt-osc\t'As gh-ost, with pt-online-schema-change'
rebuild-replica\t'The server\'s own copy, on a replica that then takes over'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-budget -d 'How long writers may wait for the copy of a table; larger tables are left to gh-ost or pt-online-schema-change, or skipped if neither can be used' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l largest-table -d 'Skip tables larger than this, in MiB: writes to a table wait while it is copied' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l keyring-copy -d 'A copy of the keyring that must open everything before anything is changed (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l option-file -d 'MariaDB, MySQL 5.7, Percona Server 8.0: add settings that must survive or need a restart, and that the server does not persist itself, to this option file, which the server must read; without it they are shown' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-wait -d 'How long a statement waits for a table\'s lock; all later statements wait too, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l lock-tries -d 'How often to try for a lock; between attempts others get the same time' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l max-lag -d 'Wait while this server, if it is a replica, or a --replica lags more than this' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l replica -d 'A replica to check for --max-lag, as mysql://USER@HOST:PORT, with the same password and TLS (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l throttle -d 'Wait while a status variable is higher, as in Threads_running=50 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l window -d 'Begin steps only in this part of the day, in local time, as in 01:00-05:00' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l replicated -d 'Replicas have keyrings: changes by gh-ost and pt-online-schema-change may reach them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l purge-binlogs -d 'Remove binary logs that were written in plaintext, except those that a connected replica still reads; replicas that are not connected now must have read them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l policy -d 'What to encrypt' -r -f -a "all\t'Tables and logs'
tables\t'Tablespaces, and the defaults for new ones'
logs\t'Redo, undo, binary and relay logs'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l schema -d 'Only tables of this schema (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l method -d 'How tables are encrypted on MySQL' -r -f -a "auto\t'The server\'s own copy if it fits into --lock-budget, else gh-ost or pt-online-schema-change'
native\t'The server\'s own copy, however long writers wait'
gh-ost\t'gh-ost where it can be used, else the server\'s own copy if it fits into --lock-budget'
pt-osc\t'As gh-ost, with pt-online-schema-change'
rebuild-replica\t'The server\'s own copy, on a replica that then takes over'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-budget -d 'How long writers may wait for the copy of a table; larger tables are left to gh-ost or pt-online-schema-change, or skipped if neither can be used' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l largest-table -d 'Skip tables larger than this, in MiB: writes to a table wait while it is copied' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l keyring-copy -d 'A copy of the keyring that must open everything before anything is changed (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l option-file -d 'MariaDB, MySQL 5.7, Percona Server 8.0: add settings that must survive or need a restart, and that the server does not persist itself, to this option file, which the server must read; without it they are shown' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-wait -d 'How long a statement waits for a table\'s lock; all later statements wait too, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l lock-tries -d 'How often to try for a lock; between attempts others get the same time' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l max-lag -d 'Wait while this server, if it is a replica, or a --replica lags more than this' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l replica -d 'A replica to check for --max-lag, as mysql://USER@HOST:PORT, with the same password and TLS (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l throttle -d 'Wait while a status variable is higher, as in Threads_running=50 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l window -d 'Begin steps only in this part of the day, in local time, as in 01:00-05:00' -r
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l log -d 'Append every statement that changes something to this file, before it is sent [default: statements.jsonl in the directory for state: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l html -d 'Also write a page for auditors to this file: what was done and proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the run\'s state, for `sealant encrypt status` and others [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l replicated -d 'Replicas have keyrings: changes by gh-ost and pt-online-schema-change may reach them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l purge-binlogs -d 'Remove binary logs that were written in plaintext, except those that a connected replica still reads; replicas that are not connected now must have read them'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from run" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l state-dir -d 'Directory of the runs\' state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -l forget -d 'Remove the state of runs that have ended, of SERVER or of all'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from pause" -l state-dir -d 'Directory of the runs\' state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from resume" -l state-dir -d 'Directory of the runs\' state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from cancel" -l state-dir -d 'Directory of the runs\' state [default: as for `sealant encrypt run`]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand encrypt; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read it, and that it opens what exists'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, between files and a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and not __fish_seen_subcommand_from init check migrate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l config -d 'The server\'s option file: for a stopped server, the one that names its data directory; for MariaDB, the one to add the options to [default for MariaDB: the one that the running server was told to read, or a new file in the directory that is included]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l datadir -d 'The server\'s data directory, if it differs from the one that the server or its option file names' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l keyring-file -d 'Path of the keyring or key file [default: beside the data directory, as /var/lib/mysql-keyring/keyring]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l key-password-file -d 'Path of the password file of MariaDB\'s key file [default: beside the key file]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l keys -d 'Number of keys in MariaDB\'s key file: the server reads it only at startup, so spare keys save a restart later' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l plugin-dir -d 'Directory of the server\'s components and plug-ins, if it is not found' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l daemon-dir -d 'Directory of mysqld, if it is not found' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l inside-datadir -d 'Accept a keyring inside the data directory: whoever copies that directory also has the keys'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from init" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l keyring -d 'Path of the server\'s keyring or key file here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l keyring-copy -d 'A copy of it, which must open everything, too (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l log -d 'Append every statement that changes something to this file, before it is sent [default: statements.jsonl in the directory for state: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l write-test -d 'Make the server create and drop an encrypted table, which creates its first key'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from check" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l datadir -d 'The server\'s data directory' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read it, and that it opens what exists'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, between files and a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand keyring; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l keyring -d 'Path of the server\'s keyring or key file here, if it differs from the one the server reports; or the configuration of the Vault that has its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l backup -d 'Also examine this backup of a data directory for the keys that its files require (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l forget-backup -d 'Remove this backup, which no longer exists, from the register (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l state-dir -d 'Directory of the key register: names and dates, never a key [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l record -d 'Record in the register what is found, and the backups named by --backup'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand keys" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only with it'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "header" -d 'Back up a LUKS header, check, restore or repair it, with proof before and undo after'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "key" -d 'List, add and rotate the keys of a volume, or hand one out at boot'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and not __fish_seen_subcommand_from audit boot close format header key mount open plan reencrypt help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l device-bytes -d 'Size of the disk that the header is on, in bytes; default: the size of FILE if it is a device' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l physical-block-bytes -d 'Physical block size of the disk, in bytes; default: as the system reports it, if FILE is a device' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l backup-of -d 'Judge FILE as a header backup of the volume on this device or in this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l fail-on -d 'Exit 3 when a finding is at least this severe: info, low, medium, high, critical, or never' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "install" -d 'Write the lines of crypttab and fstab, and the drop-in of the server\'s unit'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "check" -d 'Prove that a reboot brings the server back, and report what keeps it down'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from boot" -f -a "remove" -d 'Remove what `boot install` wrote; the volume, its key and the guard of the mount point stay'
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
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l key-bits -d 'Bits of the volume key: 512 is AES-256 in XTS, 256 is AES-128' -r -f -a "256\t''
512\t''"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l label -d 'Label of the volume' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l pbkdf2-iterations -d 'Derive the key with this many iterations of PBKDF2. For a random key 1000 are enough, and the volume opens at once; default: Argon2id as cryptsetup measures it for a passphrase' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l make-key -d 'Create the key: 64 random bytes in the new file of --key-file'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l no-backup -d 'Save no header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l destroy-unknown-data -d 'Overwrite the disk even if it holds unidentified data'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from format" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "backup" -d 'Save the header and the key slots of a volume in a new file'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "check" -d 'Show how a header backup relates to the volume: current, stale, of another volume key, of another volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "diff" -d 'Show the differences of two headers: of volumes, backups, or one of each'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "repair" -d 'Repair a volume whose re-encryption was interrupted at its end, which cryptsetup cannot open or would encrypt twice'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "restore" -d 'Restore a header backup to its volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from header" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "add" -d 'Add a key to a volume, and prove that it opens it'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "list" -d 'List key slots, and show which of them the keys in files open'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "rotate" -d 'Replace the key in a file with a new random one, and prove that the old key opens nothing any more'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "serve" -d 'Write a key to the socket on standard output: from a file on a stick, from HashiCorp Vault or from a command'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from key" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from mount" -l options -d 'Options of mount(8)' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from mount" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l name -d 'Name of the volume in /dev/mapper' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l key-file -d 'File with the exact bytes of a key that opens the volume; `-` is standard input. Default: a prompt' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l strict -d 'Copy the header to memory, judge the copy, and open with it, so that changes on disk in the meantime have no effect. Refuses a header with any serious finding'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l no-queues -d 'Encrypt without work queues, which is faster on disks that do not rotate'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l allow-discards -d 'Pass TRIM to the disk; an attacker then sees which blocks are in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l persistent -d 'Store --no-queues and --allow-discards in the header, for everyone who opens the volume'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -l read-only -d 'Open read-only'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l option-file -d 'Do not ask a server: read its paths from this option file (repeatable; later files take precedence)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l datadir -d 'Do not ask a server: this is the data directory' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l backup -d 'A directory with backups (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l disk -d 'The new disk to encrypt' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l name -d 'Name for the volume' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l unit -d 'The server\'s unit; default: the installed one, or else the usual one of the server that these files belong to' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l key-file -d 'File with a key that opens the volume now and afterwards' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l other-key-file -d 'File with another key that must still open the volume afterwards (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l backups -d 'Directory for the old and the new header' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l pbkdf2-iterations -d 'Derive the keys with this many iterations of PBKDF2, for random keys as few as 1000; default: what cryptsetup measures for a passphrase' -r
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l drop-other-keys -d 'Drop the slots whose keys are not named'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l resume -d 'Resume an unfinished re-encryption'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from reencrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only with it'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "header" -d 'Back up a LUKS header, check, restore or repair it, with proof before and undo after'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "key" -d 'List, add and rotate the keys of a volume, or hand one out at boot'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand luks; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "run" -d 'Copy the tables while the source is written to, apply its changes, and compare every row; resumes if interrupted'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "status" -d 'Show how far a migration is, also while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "verify" -d 'Compare every row of both servers again, while they change; rows that differ are named'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "cutover" -d 'Stop writes at the source, apply and compare the rest, and leave the target ready; `abort` undoes it until then'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "report" -d 'Show and keep the proof: what was compared, when, at which position; encryption of each table; how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay at both ends'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "abort" -d 'Give a migration up: the source is writable as before, and the state at the target is removed'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and not __fish_seen_subcommand_from plan run status verify cutover report finish abort help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l until -d 'How far to go' -r -f -a "copied\t'Every row is copied, and every change since then applied once'
verified\t'Every row is compared as well'
forever\t'Until SIGINT or SIGTERM ends it: changes are applied and compared all the time'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l yes -d 'Do not ask before the first change'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -l json -d 'For scripts: write events to standard output, one JSON object per line; their schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No status line, and no messages but errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -l json -d 'For scripts: write events to standard output, one JSON object per line; their schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'No status line, and no messages but errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l fence -d 'How writes to the source are stopped' -r -f -a "read-only\t'SET GLOBAL super_read_only = ON'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l max-blocked -d 'Give up, and make the source writable again, after this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -l json -d 'For scripts: write events to standard output, one JSON object per line; their schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -s q -l quiet -d 'No status line, and no messages but errors'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from cutover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l html -d 'Write a self-contained HTML report to this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l proof -d 'Write the proof as JSON Lines to this file: each comparison, and a SHA-256 over all; its schema is in docs/schema' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l proof -d 'Write the proof to this file, as JSON Lines, before the state is removed; `report` shows it too until then' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -l discard-proof -d 'Remove the proof without saving it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from finish" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l source-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target -d 'The server, as mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-user -d 'Account [default: from the URL, the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-ca -d 'CA certificates to trust, PEM; the certificate must contain the server\'s name' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l target-tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l defaults-file -d 'Read connection options and passwords only from this file, groups sealant-source and sealant-target' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l schema -d 'Only this schema (repeatable) [default: all but the server\'s own]' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l exclude -d 'Leave out the tables whose SCHEMA.TABLE matches, such as \'shop.log_*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l encrypt -d 'Which tables to encrypt at the target; what is encrypted at the source always is' -r -f -a "all\t'Every table'
as-source\t'Only those that are encrypted at the source'"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l min-tls -d 'The oldest version of TLS for both links' -r -f -a "1.3\t''
1.2\t''"
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l insecure-unverified-source -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l insecure-unverified-target -d 'Do not verify the server\'s certificate: anyone on the network can read and change all rows'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l tls-any-name -d 'Accept certificates of the given CA that do not contain the server\'s name'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l drop-tables -d 'Drop the tables of the migration at the target, too'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from abort" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Copy the tables while the source is written to, apply its changes, and compare every row; resumes if interrupted'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show how far a migration is, also while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Compare every row of both servers again, while they change; rows that differ are named'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "cutover" -d 'Stop writes at the source, apply and compare the rest, and leave the target ready; `abort` undoes it until then'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "report" -d 'Show and keep the proof: what was compared, when, at which position; encryption of each table; how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay at both ends'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "abort" -d 'Give a migration up: the source is writable as before, and the state at the target is removed'
complete -c sealant -n "__fish_sealant_using_subcommand migrate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -l config -d 'Configuration (TOML; see the guide of the monitor)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and not __fish_seen_subcommand_from check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -l config -d 'Configuration (TOML; see the guide of the monitor)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -l full -d 'Read files and hosts, too'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from help" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand monitor; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l source -d 'The server whose data was copied: mysql://USER@HOST:PORT' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l into -d 'Data directory of the new server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l role -d 'Role of the new server' -r -f -a "replica\t'A replica, by GTID and TLS'
group-member\t'A member of the source\'s replication group'
galera\t'A node of the source\'s Galera cluster'"
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l socket -d 'Socket of the new server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l local-user -d 'Account on the new server, for its socket' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l local-password-file -d 'File with the password of that account' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-user -d 'Account on the source that replication uses' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-password-file -d 'File with the password of that account' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l replication-ca -d 'Authorities to trust for the source\'s certificate on the replication link, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l wait -d 'How long to wait until the new server has caught up' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-unverified-source -d 'Allow a replication link without --replication-ca: the new server then sends that password to whoever answers at the source\'s address'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l yes -d 'Run the statements, and wait until the new server has caught up'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand provision" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l into -d 'Target: a directory that does not exist or is empty' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l listen -d 'Address and port to listen on; port 0 is any free one' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l advertise -d 'Addresses for the pairing code, if the sender reaches this host by others (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l streams -d 'Maximum number of connections for a sender' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l owner -d 'Owner of everything, by number or name; default: the donor\'s numbers, if this is root' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l rekey -d 'Wrap the keys of MySQL\'s encrypted files with a master key that is added to this server\'s own keyring, so that the two servers share none: a keyring file or component_keyring_file.cnf. It is created if it does not exist, for MySQL 5.7 in its plug-in\'s format. The sender needs its keyring for this' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l prepare-with -d 'mariabackup or xtrabackup of the version of the sender\'s server, for a backup of --provider mariabackup or xtrabackup [default: found on the path]. It processes what the sender sent: root runs it as --owner, which must not be root' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l prepare-options -d 'Option file for that program, for a backup of encrypted tables: plugin_load, plugin_dir and the location of the keys on this host. No option of the sender that names a library or a file is used' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l expiry -d 'How long to wait for the sender' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l timeout -d 'Give up if the sender is silent for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-cert -d 'This side\'s certificate chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-key -d 'This side\'s private key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l tls-ca -d 'Authorities to trust for the other side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l allow -d 'With certificates: accept a sender only if its certificate has this name (repeatable) [default: any of --tls-ca]' -r
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l report -d 'Write a JSON report to this file at the end of the transfer' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l resume -d 'Resume an interrupted transfer; this is the default if the target holds one'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l restart -d 'Remove what an interrupted transfer left, and start again'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l no-prepare -d 'Leave such a backup unprepared, and end with exit code 3'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -l json -d 'Write events to standard output, one JSON object per line'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand receive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l repository -d 'The repository: a directory, or s3://BUCKET/PREFIX' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l endpoint -d 'Address of the store, `https://HOST:PORT`, if it is not AWS\'s' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l region -d 'Region of the bucket' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l ca -d 'File of the authorities that vouch for the store, instead of those that the system trusts' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l credentials -d 'File with the credentials, of mode 600; without one, those of the environment or of the machine' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l host -d 'Host whose backup to restore, if the repository has several' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l into -d 'The target: a directory that does not exist, or an empty one' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l identity -d 'File of age identities, one of which opens the backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l allowed-signers -d 'File of the accepted signers, as printed by `sealant backup init` and read by `ssh-keygen -Y verify -f`; without it, the signature is not judged' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l receipt -d 'SHA-256 of the receipt, as the run printed it: restores exactly this backup' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l base -d 'A directory that already has much of the backup, of a stopped server or an older restore: equal data is copied from there (without using space, if the file system can), and only the rest is fetched. It is not changed' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l manifest -d 'The receipt is lost: restore what this manifest lists, hosts/NAME/manifests/NUMBER.age in the repository or a copy of it. Nothing shows who wrote it, or whether it is the newest' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l scratch -d 'Restore into a new directory below this one, and remove it after the proof: a test of the backup' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mysqld -d 'Program of the server, of the version of the backup or newer; it runs as the owner of the files' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l check-tables -d 'Check only this many tables, the largest first [default: all]' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove-option -d 'An option for that server that the files do not show, as in --prove-option=--lower-case-table-names=1 (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove-limit -d 'Time limit of the recovery' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-time -d 'Then replay the archived binary logs (`sealant backup binlogs`), by the server of --mysqld: everything that was committed at or before this time, such as 2026-11-26T14:05:00Z' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-gtid -d 'The same, up to the transaction with this GTID' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l before-gtid -d 'Replay up to the transaction with this GTID, without it' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-position -d 'The same, up to this position of the server\'s binary log' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l binlog-receipt -d 'With --to-end: SHA-256 of the newest receipt of binary logs, as `sealant backup binlogs` printed it; shows that none is hidden' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l rekey -d 'Keyring file of the server that will use the directory: new master keys are added to it, and from then on wrap the keys of the files; it is created if it does not exist. Also needs the old keyring (--keyring), or --key-identity. MySQL only' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l key-identity -d 'File of age identities of the recipients under `keys` in the configuration: the backup has the keys of its files for them, so that --rekey needs no keyring of the server that was backed up' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l owner -d 'Owner of everything, by names or numbers [default: unchanged]' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l streams -d 'Threads' -r
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l record -d 'Append the result to this file, as a line of JSON: `sealant backup report --restores` reads it' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l salvage -d 'The manifest is lost or damaged: find the files in the packs that the receipt names. Owners, permissions, empty files and directories are not in packs, and files that were dropped since an earlier backup may come back'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l dry-run -d 'Show what would be fetched and written, and whether the keys fit; restore nothing'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l prove -d 'Then start a private server on the restored files, wait until it has recovered, check its tables, stop it, and verify every page. It follows no option of the backup, and nobody can reach it. The directory is recovered afterwards'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l to-end -d 'The same, up to the end of the archive'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -l json -d 'For scripts: write JSON to standard output; its schema is in docs/schema'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and not __fish_seen_subcommand_from plan run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l mariadb-key-id -d 'MariaDB: move every table to the key with this number, which must exist in the key file' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l mariadb-new-version -d 'MariaDB with its keys in a Vault: write a new version of the key with this number, and copy every table that uses it; --keyring names the option file of hashicorp_key_management' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l cert -d 'With --certificate: the server\'s new certificate, PEM, from `sealant cert renew` or any authority' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l key -d 'With --certificate: its key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l ca -d 'With --certificate: its authority, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l client-name -d 'With --certificate: a name that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l outside -d 'With --certificate: where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l keyring-backup -d 'Write it to this file, which must not exist yet' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l recipient -d 'Encrypt it to this X25519 recipient of age (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l recipients-file -d 'Encrypt it to the recipients in this file, one per line (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l identity -d 'Decrypt each backup again with this age identity, as a further proof' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l keyring -d 'Path of the server\'s keyring file here, if it differs from the one the server reports; or the configuration of the Vault with its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l state-dir -d 'Directory of the key register: names and dates, never a key [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l settle -d 'How long to wait until the server has written the re-wrapped keys' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l lock-wait -d 'How long a statement waits for a table\'s lock; all later statements wait too, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l lock-tries -d 'How often to try for a lock; between attempts others get the same time' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l master-key -d 'Rotate the InnoDB master key, which wraps the keys of tablespaces and of the redo log'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l binlog-key -d 'Rotate the master key of binary and relay logs'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l redo -d 'Rotate the key of the redo log, and prove that a redo log file uses the new key'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l data-keys -d 'Rotate the keys of tables and undo tablespaces themselves: every table is copied, and writes to it wait'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l certificate -d 'Replace the server\'s certificate and its key: --cert, --key, --ca'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l trust-old-ca -d 'With --certificate: keep the server\'s current trusted authorities beside the new one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from plan" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s S -l socket -d 'The server, by its unix socket' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s h -l host -d 'The server, by its host name or address; localhost means TCP here' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s P -l port -d 'Port of that host [default: from the option file, or 3306]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s u -l user -d 'Account [default: from the option file, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l defaults-file -d 'Read connection options and the password only from this file, groups client and sealant' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l password-file -d 'Read the password from this file, without a final line break' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l password-fd -d 'Read the password from this open file descriptor' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls -d 'TLS mode: required encrypts without checking the certificate, so the password itself is never sent; off works only on a socket [default: required; verify-ca with --tls-ca; off on a socket]' -r -f -a "required\t'Encrypt, or fail'
verify-proof\t'As required, and the server proves by the password\'s hash that the certificate is its own, as MariaDB does since 11.4'
verify-ca\t'Encrypt, and trust only --tls-ca'
verify-identity\t'As verify-ca, and the certificate must contain the server\'s name'
off\t'No TLS: only on a socket'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-ca -d 'CA certificates to trust, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-fingerprint -d 'Accept only the server whose certificate has this SHA-256, as shown by `openssl x509 -fingerprint -sha256` (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-cert -d 'Client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l tls-key -d 'Key of the client certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l timeout -d 'Give up on a server that does not answer for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l mariadb-key-id -d 'MariaDB: move every table to the key with this number, which must exist in the key file' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l mariadb-new-version -d 'MariaDB with its keys in a Vault: write a new version of the key with this number, and copy every table that uses it; --keyring names the option file of hashicorp_key_management' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l cert -d 'With --certificate: the server\'s new certificate, PEM, from `sealant cert renew` or any authority' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l key -d 'With --certificate: its key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l ca -d 'With --certificate: its authority, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l client-name -d 'With --certificate: a name that the certificate must contain (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l outside -d 'With --certificate: where to check the server from outside [default: its port on this host, or its socket]' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l keyring-backup -d 'Write it to this file, which must not exist yet' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l recipient -d 'Encrypt it to this X25519 recipient of age (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l recipients-file -d 'Encrypt it to the recipients in this file, one per line (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l identity -d 'Decrypt each backup again with this age identity, as a further proof' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l datadir -d 'Path of the server\'s data directory here, if it differs from the one the server reports' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l keyring -d 'Path of the server\'s keyring file here, if it differs from the one the server reports; or the configuration of the Vault with its keys' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the key register: names and dates, never a key [default: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l settle -d 'How long to wait until the server has written the re-wrapped keys' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l lock-wait -d 'How long a statement waits for a table\'s lock; all later statements wait too, so keep it short' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l lock-tries -d 'How often to try for a lock; between attempts others get the same time' -r
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l log -d 'Append every statement that changes something to this file, before it is sent [default: statements.jsonl in the directory for state: /var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is ~/.local/state/sealant if the variable is not set]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l html -d 'Also write a page for auditors to this file: what was done and proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s p -l ask-password -d 'Ask for the password, even if an option file has one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l insecure-plaintext-tcp -d 'With --tls off, send statements and answers over TCP in clear text, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l insecure-password-to-unverified-server -d 'Send the password itself to an unverified server that asks for it: an impostor would get it'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l master-key -d 'Rotate the InnoDB master key, which wraps the keys of tablespaces and of the redo log'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l binlog-key -d 'Rotate the master key of binary and relay logs'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l redo -d 'Rotate the key of the redo log, and prove that a redo log file uses the new key'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l data-keys -d 'Rotate the keys of tables and undo tablespaces themselves: every table is copied, and writes to it wait'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l certificate -d 'Replace the server\'s certificate and its key: --cert, --key, --ca'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l trust-old-ca -d 'With --certificate: keep the server\'s current trusted authorities beside the new one'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -s y -l yes -d 'Do not ask'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l dry-run -d 'Show the plan and change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from run" -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand rotate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l datadir -d 'Its data directory, in place of SOURCE' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -s S -l socket -d 'Socket of its server [default: the server is found by the files it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l pid-file -d 'File with the process id of its server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l location -d 'Directory for the copy, on the file system of the data [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l max-freeze -d 'Maximum freeze of the server, for example 500ms (lvm, zfs: not started if a longer one is expected)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l provider -d 'auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best method that is safe here, the backup programs only send (sealant send --live)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -s u -l user -d 'Account on the server at --socket for the provider follow; needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l password-file -d 'Read the account\'s password from this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l backup-defaults -d 'Option file with the account for mariabackup or xtrabackup (--provider mariabackup)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l backup-program -d 'Path of mariabackup or xtrabackup [default: found on the path]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l streams -d 'Number of connections that carry data' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l compress -d 'auto, none, lz4, zstd (as zstd:3) or zstd:LEVEL (1 to 19); auto compresses more the slower the network is' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l bwlimit -d 'Maximum bytes per second on the wire, for example 50MiB' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l include -d 'Send only files whose path matches this pattern, for example \'sakila/*\' (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l exclude -d 'Do not send files that match this pattern, nor anything below them (repeatable)' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l cipher -d 'Cipher of the data connections; default: the fastest one for both hosts' -r -f -a "aes128\t'AES-128-GCM'
aes256\t'AES-256-GCM'
chacha20\t'ChaCha20-Poly1305'"
complete -c sealant -n "__fish_sealant_using_subcommand send" -l timeout -d 'Give up if the receiver is silent for this long' -r
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-cert -d 'This side\'s certificate chain, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-key -d 'This side\'s private key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l tls-ca -d 'Authorities to trust for the other side\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l report -d 'Write a JSON report to this file at the end of the transfer' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand send" -l live -d 'Take a consistent copy of a running server\'s data directory, send it, and remove it, however this ends'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l resume -d 'Resume an interrupted transfer; this is the default if the target holds one'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s n -l dry-run -d 'Show what would be sent, and send nothing'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l send-mariadb-key -d 'Also decrypt MariaDB\'s encrypted binary and relay logs, and lend the receiver key 1 of the key file for that'
complete -c sealant -n "__fish_sealant_using_subcommand send" -l json -d 'Write events to standard output, one JSON object per line'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "list" -d 'List the copies of a data directory, and whether a program uses them'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and not __fish_seen_subcommand_from create list drop estimate watchdog help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s S -l socket -d 'Socket of its server [default: the server is found by the files it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l pid-file -d 'File with the process id of its server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l location -d 'Directory for copies, on the file system of the data [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l max-freeze -d 'Maximum freeze of the server, for example 500ms (lvm, zfs: not started if a longer one is expected)' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l provider -d 'auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best method that is safe here, the backup programs only send (sealant send --live)' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s u -l user -d 'Account on the server at --socket for the provider follow; needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l password-file -d 'Read the account\'s password from this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l keyring -d 'Keyring file of MySQL, for the provider follow: it checks encrypted pages and the redo log (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s S -l socket -d 'Socket of its server [default: the server is found by the files it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l pid-file -d 'File with the process id of its server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l location -d 'Directory for copies, on the file system of the data [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -s S -l socket -d 'Socket of its server [default: the server is found by the files it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l pid-file -d 'File with the process id of its server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l location -d 'Directory for copies, on the file system of the data [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -l stale -d 'Drop all copies whose program was killed'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from drop" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l datadir -d 'Data directory of the server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s S -l socket -d 'Socket of its server [default: the server is found by the files it has locked]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l pid-file -d 'File with the process id of its server' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l location -d 'Directory for copies, on the file system of the data [default: beside the data directory, or in it if its file system begins there]' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l max-freeze -d 'Maximum freeze of the server, for example 500ms (lvm, zfs: not started if a longer one is expected)' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l provider -d 'auto, stopped, btrfs, zfs, reflink, lvm, follow, mariabackup, xtrabackup; auto takes the best method that is safe here, the backup programs only send (sealant send --live)' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s u -l user -d 'Account on the server at --socket for the provider follow; needs, on MariaDB RELOAD and BINLOG MONITOR; on MySQL BACKUP_ADMIN, RELOAD, SELECT on performance_schema.log_status, and SELECT and LOCK TABLES on tables that are not InnoDB\'s [default: from the option files, or the name of the current user]' -r
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l password-file -d 'Read the account\'s password from this file' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from estimate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from watchdog" -s h -l help -d 'Print help'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the copies of a data directory, and whether a program uses them'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l for -d 'How long to watch; a signal (Ctrl-C) ends it earlier, with what was seen so far' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l interface -d 'Watch this network interface only' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l pcap -d 'Read the packets of this file: pcap or pcapng' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l port -d 'Watch this port (repeatable) instead of 3306, 33060, 33061, 33062, 4444, 4567 and 4568; of a file, all are read' -r
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l fail-on -d 'Exit 3 when such traffic is seen' -r -f -a "clear\t'Traffic in clear'
unknown\t'Traffic in clear, or not recognised'
never\t'Nothing'"
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand sniff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "near" -d 'The end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "far" -d 'The end beside the server: accepts near ends that the authority has certified'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and not __fish_seen_subcommand_from near far help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l listen -d 'Listen for applications here (repeatable, or separated by commas); sockets from systemd, if any, come first' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l far -d 'The far end; of several, the first that works is used (repeatable, or separated by commas)' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-cert -d 'This end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-key -d 'Its key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l tls-ca -d 'Authority to trust for the other end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l far-name -d 'Name that the far ends\' certificates must contain, if it is not the host in --far' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l socket-mode -d 'Permissions of the socket: whoever may write to it can try to log in to the server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l socket-group -d 'Group of the socket, by name or number, such as the applications\' group [default: that of the process]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-max -d 'Maximum number of server connections kept ready for applications' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-min -d 'Minimum number kept ready, even if no application has connected for long; the server counts those that are replaced as aborted' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l warm-age -d 'Maximum age of a ready connection; half of the server\'s connect_timeout (10 s) is a good value' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l wait -d 'How long an application waits for a server connection before it gets an error' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l max-clients -d 'Maximum number of connections from applications' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l health-interval -d 'Interval of retries of failed far ends' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l connect-timeout -d 'Time limit for an answer of a far end' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l drain -d 'When asked to stop, let sessions continue for this time' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l threads -d 'Threads: one handles about ten thousand new connections or one gigabyte per second, without waking others [default: 1 on two cores, else half of the cores]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l metrics -d 'Serve metrics, in the text format of Prometheus, on this loopback address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l hide-tls -d 'Hide from applications that the server offers TLS, so that they do not encrypt again inside the tunnel'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -l insecure-plaintext-listener -d 'Allow a port that other hosts can reach: passwords and data cross the network in clear text up to here'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from near" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l listen -d 'Listen for near ends here (repeatable, or separated by commas); sockets from systemd, if any, come first' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server -d 'The server: path of its socket, or HOST:PORT; another host only with --server-tls-ca' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-cert -d 'This end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-key -d 'Its key, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l tls-ca -d 'Authority to trust for the other end\'s certificate, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-ca -d 'Encrypt the connection to the server\'s port, and trust only this authority\'s certificates, PEM' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-name -d 'Name that the server\'s certificate must contain, if it is not the host in --server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l allow -d 'Accept only near ends whose certificate has one of these names (repeatable, or separated by commas)' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l proxy-protocol -d 'Send the client\'s host to the server with the PROXY protocol' -r -f -a "v1\t'A line of text'
v2\t'Binary'"
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l warm-max -d 'Maximum number of server connections kept ready for the applications of one near end [default: as the near end says, but 16 where the server counts unused connections]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-links -d 'Maximum number of connections from near ends' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-handshakes -d 'Maximum number of simultaneous handshakes; beyond it, the oldest one that has not started or takes over 2 s is closed, or else the new one' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l max-handshakes-per-address -d 'Maximum number of simultaneous handshakes from one address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l handshake-timeout -d 'Time limit of a handshake' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l connect-timeout -d 'Time limit for connecting to the server' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l drain -d 'When asked to stop, let sessions continue for this time' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l threads -d 'Threads: one handles about ten thousand new connections or one gigabyte per second, without waking others [default: 1 on two cores, else half of the cores]' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l metrics -d 'Serve metrics, in the text format of Prometheus, on this loopback address' -r
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l server-tls-any-name -d 'Do not check the name in the server\'s certificate: those that MySQL generates have none'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -l insecure-plaintext-server -d 'Allow an unencrypted connection to a server on another host, readable on the network'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from far" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "near" -d 'The end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "far" -d 'The end beside the server: accepts near ends that the authority has certified'
complete -c sealant -n "__fish_sealant_using_subcommand tunnel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l manifest -d 'Check only the list of files that `sealant receive` left, `sealant-manifest`: is every file unchanged? PATH is the directory, if it is not the one that contains FILE' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s j -l jobs -d 'Number of computing threads; default: one per processor' -r
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l keyring -d 'Keyring file of MySQL, of component_keyring_file or of the keyring_file plug-in, or the configuration of a Vault or KMIP service (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l keyring-config -d 'Configuration of component_keyring_file, which names the keyring file, or of component_keyring_vault or component_keyring_kmip' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l mariadb-key-file -d 'Key file of MariaDB\'s file_key_management, or option file of its hashicorp_key_management (repeatable)' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l mariadb-key-file-password-file -d 'File with the password of the key file, if it is encrypted' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l format -d 'Output format' -r -f -a "table\t'For people'
json\t'For scripts: docs/schema'"
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s o -l output -d 'Write the report to this file instead of standard output' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -l html -d 'Also write a page for auditors to this file: what was proven, when, where and by whom' -r -F
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s v -l verbose -d 'List every file and every finding in the table'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s q -l quiet -d 'No status line on stderr'
complete -c sealant -n "__fish_sealant_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "audit" -d 'Show what is still readable to someone who steals the disk or listens on the wire'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "backup" -d 'Make encrypted, signed backups of a data directory, and prove every page of them'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "bench" -d 'Measure what this program costs on this machine, compared with its alternatives'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "cert" -d 'Make certificates for tunnels, transfers and servers, monitor their dates, install them without a restart'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "checks" -d 'List the checks of `audit`, or explain one'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "cost" -d 'Measure what encryption costs on this machine, layer by layer, and report what to choose'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "encrypt" -d 'Encrypt what a running server stores in plaintext, and prove it from the bytes'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "keyring" -d 'Give a server a keyring or key file, in a safe place with safe modes, and prove that it uses it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "keys" -d 'List every key that opens something on a server, where it is, and what still needs it; never the key itself'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "luks" -d 'The encrypted disk under a data directory: judge and create it, open it, rotate its keys, back up its header'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "migrate" -d 'Move the tables of a server into another one over SQL, while they are used, never less encrypted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "monitor" -d 'Audit a fleet again and again, and serve the results as a page and as metrics'
complete -c sealant -n "__fish_sealant_using_subcommand help; and not __fish_seen_subcommand_from audit backup bench cert checks cost encrypt keyring keys luks migrate monitor provision receive restore rotate send snapshot sniff tunnel verify sst generate help" -f -a "provision" -d 'Make a server that runs on a copy of another server\'s data replicate from that server'
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
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "init" -d 'Create the repository and the signing key, where they do not exist yet, and prove the recipients'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "run" -d 'Make a backup'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "binlogs" -d 'Archive the binary logs of the server, so that a restore can replay them to any point in time'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "list" -d 'List the backups'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "policy" -d 'Print the policy of a bucket: who may do what with the repository, and no more'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "prune" -d 'Remove backups that retention does not keep, and data that no backup needs'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "report" -d 'Report how old the newest good backup is, what each one holds, and which were restored'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "show" -d 'Show the receipt of a backup, or what its manifest lists'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "check" -d 'Check that everything the receipts name is present and unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "keyring" -d 'Keyrings for backups, which a backup never contains'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "backup" -d 'Measure what a backup and a restore cost, against what people use today'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "disk" -d 'Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "oltp" -d 'Measure what encryption costs transactions: of tables, of all logs, of connections'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "sst" -d 'Measure how long nodes take to join a Galera cluster, with this and other methods'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "tls" -d 'Measure what TLS costs clients: per connection, per query, per byte'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "transfer" -d 'Measure how fast a directory is copied, compared with usual methods'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "verify" -d 'Measure `sealant verify` on these files, compared with plain reads and other programs'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "init" -d 'Make an authority: DIR/ca.pem and DIR/ca.key'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "issue" -d 'Issue a certificate with a new key: DIR/NAME.pem and DIR/NAME.key'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "show" -d 'Show the content of certificate files'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "check" -d 'Check certificates: dates, chain, names, and whether the key belongs to it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "renew" -d 'Issue certificates again: same names, same use, same key, new dates'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cert" -f -a "install" -d 'Install a certificate into a running MySQL or MariaDB server, and prove that it is served'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cost" -f -a "compare" -d 'Compare two reports: of two machines, versions or dates'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from cost" -f -a "predict" -d 'Predict what encryption would cost a running server, without changing it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "plan" -d 'Show what would be done, in which order, and what clients would notice; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "status" -d 'Show what each run is doing, its progress and remaining time, or how the last one ended'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "pause" -d 'Pause a run after its current step'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "resume" -d 'Resume a paused run'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from encrypt" -f -a "cancel" -d 'End a run; a table that is being copied stays unchanged'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "init" -d 'Write the files that a server needs for keys: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "check" -d 'Prove that a running server uses its keyring, that nobody else can read it, and that it opens what exists'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from keyring" -f -a "migrate" -d 'Copy all keys of a MySQL server to another keyring, between files and a Vault, and prove that it opens the data'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "audit" -d 'Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "boot" -d 'Open and mount the volume at every boot, and start the server only with it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "close" -d 'Close a volume that nothing uses'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "format" -d 'Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "header" -d 'Back up a LUKS header, check, restore or repair it, with proof before and undo after'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "key" -d 'List, add and rotate the keys of a volume, or hand one out at boot'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "mount" -d 'Mount an open volume on a directory to which nothing can be written while it is not mounted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "open" -d 'Open a volume, and prove by the kernel\'s table that it matches its header'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "plan" -d 'Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from luks" -f -a "reencrypt" -d 'Encrypt all data of a volume with a new volume key, even while it is in use'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "plan" -d 'Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "run" -d 'Copy the tables while the source is written to, apply its changes, and compare every row; resumes if interrupted'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "status" -d 'Show how far a migration is, also while another process runs it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "verify" -d 'Compare every row of both servers again, while they change; rows that differ are named'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "cutover" -d 'Stop writes at the source, apply and compare the rest, and leave the target ready; `abort` undoes it until then'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "report" -d 'Show and keep the proof: what was compared, when, at which position; encryption of each table; how long writes were blocked'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "finish" -d 'Save the proof of a migration after its cut-over, and remove its state; the tables stay at both ends'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from migrate" -f -a "abort" -d 'Give a migration up: the source is writable as before, and the state at the target is removed'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from monitor" -f -a "check" -d 'Audit the fleet once, and print one line as monitoring plug-ins do'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from rotate" -f -a "plan" -d 'Ask the server whether its keys can be rotated, and show the steps; change nothing'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from rotate" -f -a "run" -d 'Do it: show the plan, ask, and carry it out'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "create" -d 'Take a copy and keep it'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "list" -d 'List the copies of a data directory, and whether a program uses them'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "drop" -d 'Remove copies'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "estimate" -d 'Show how a copy would be taken, and how long the server would be frozen'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "watchdog" -d 'Resume a server when the program that stopped it is gone, or its time is up'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from tunnel" -f -a "near" -d 'The end beside the applications: a socket or port that clients use as if it were the server'
complete -c sealant -n "__fish_sealant_using_subcommand help; and __fish_seen_subcommand_from tunnel" -f -a "far" -d 'The end beside the server: accepts near ends that the authority has certified'
