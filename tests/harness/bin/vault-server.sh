# shellcheck shell=bash
# HashiCorp Vault, built from its Go module: a release under the Mozilla Public License. Nobody packages it, and what
# the vendor publishes since is under another licence. Later releases need an `sdk` that was never published.

vault_version=v1.14.1
# Plug-ins and storages for other services: a third of the code, and most of the time that it takes to compile.
vault_unused='credAliCloud|credAws|credAzure|credCentrify|credCF|credGcp|credGitHub|credJWT|credKerb|credKube|credLdap'
vault_unused+='|credOCI|credOIDC|credOkta|credRadius|db[A-Z][A-Za-z]*|logicalAd|logicalAlicloud|logicalAws|logicalAzure'
vault_unused+='|logicalConsul|logicalDb|logicalGcp|logicalGcpKms|logicalKube|logicalLDAP|logicalMongoAtlas|logicalNomad|logicalPki'
vault_unused+='|logicalRabbit|logicalTerraform|logicalTransit|phys[A-EG-HJ-QS-Z][A-Za-z0-9]*|physFoundationDB|csr|ksr'

# Long on few processors, so it leaves them to others; afterwards the build's own cache goes away.
install_vault() {
    command -v go >/dev/null || apt_install golang-go
    local dir=$servers/vault source
    rm -rf "$dir"
    mkdir -p "$dir/root/bin" "$dir/build/tmp"
    export GOFLAGS='-mod=mod -buildvcs=false -trimpath' GOTOOLCHAIN=${GOTOOLCHAIN:-local} CGO_ENABLED=0
    export GOCACHE=${GOCACHE:-$dir/build/cache} GOTMPDIR=$dir/build/tmp
    retry go mod download "github.com/hashicorp/vault@$vault_version"
    source=$(go env GOMODCACHE)/github.com/hashicorp/vault@$vault_version
    grep -q '^Mozilla Public License, version 2.0' "$source/LICENSE" || fail "vault $vault_version has another licence"
    cp -r --no-preserve=mode "$source" "$dir/build/vault"
    cd "$dir/build/vault"
    # Its go.mod takes `api` and `sdk` from directories that the module leaves out.
    sed -i '/^replace github.com\/hashicorp\/vault\//d' go.mod
    sed -E -i "s/^(\s*Factory:\s+)(credCF|logicalAd)\.Factory,\$/\1removedFactory,/
        /^\s+($vault_unused) \"|[^A-Za-z]($vault_unused)\.[A-Z]/d" helper/builtinplugins/registry.go command/commands.go
    retry go list -deps . >/dev/null
    # -checklinkname: a dependency uses what newer releases of Go hide.
    nice -n 15 go build -ldflags '-s -w -checklinkname=0' -o "$dir/root/bin/vault" . ||
        fail "vault $vault_version does not build with $(go version)"
    cd "$servers"
    rm -rf "$dir/build"
    "$dir/root/bin/vault" version | awk '{ print $2 }' >"$dir/VERSION"
    [ -s "$dir/VERSION" ] || fail 'vault does not run'
}
