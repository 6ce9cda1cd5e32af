// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
)

// boringPrefix begins the names of boring-registry's variables.
const boringPrefix = "BORING_REGISTRY_"

// boringIgnored mean nothing here, and cannot hurt: links are relative and signed by the registry, login
// needs no settings, metrics of boring-registry's form are not served, and there are no more details to
// log.
var boringIgnored = []string{"DEBUG", "LISTEN_TELEMETRY_ADDRESS", "DOWNLOAD_PROXY", "STORAGE_S3_SIGNEDURL_EXPIRY", "STORAGE_S3_CLIENT_LOG_MODE",
	"STORAGE_GCS_SIGNEDURL_EXPIRY", "STORAGE_GCS_SA_EMAIL", "STORAGE_AZURE_SIGNEDURL_EXPIRY", "LOGIN_CLIENT", "LOGIN_GRANT_TYPES", "LOGIN_PORTS", "LOGIN_SCOPES",
	"NETWORK_MIRROR_PULL_THROUGH_CACHE_ENABLED", "NETWORK_MIRROR_PULL_THROUGH_CACHE_TTL", "NETWORK_MIRROR_PULL_THROUGH_CACHE_SIZE"}

// boringAddress has the port of boring-registry's default, which is reached by everybody. Here somebody
// must say that: without tokens the registry lets everybody read.
const boringAddress = "127.0.0.1:5601"

// boring is the configuration in boring-registry's variables.
type boring struct {
	found                  bool
	store, address         string
	cert, key              string
	grants                 []access.Grant
	noMirror, mirrorCached bool
	// json is the log's format.
	json bool
}

// readBoring reads the variables. It refuses those that it cannot follow: without the ones of OIDC the
// registry would be open.
func readBoring(lookup func(string) (string, bool), set []string) (boring, error) {
	b := boring{}
	used := map[string]bool{}
	get := func(name string) string {
		used[boringPrefix+name] = true
		value, ok := lookup(boringPrefix + name)
		b.found = b.found || ok && value != ""
		return value
	}
	yes := func(name string, byDefault bool) (bool, error) {
		text := get(name)
		if text == "" {
			return byDefault, nil
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return false, fmt.Errorf("%s%s %q: want true or false", boringPrefix, name, text)
		}
		return value, nil
	}
	pathStyle, err := yes("STORAGE_S3_PATHSTYLE", false)
	if err != nil {
		return b, err
	}
	mirror, err := yes("NETWORK_MIRROR", true)
	if err != nil {
		return b, err
	}
	pull, err := yes("NETWORK_MIRROR_PULL_THROUGH", false)
	if err != nil {
		return b, err
	}
	if b.json, err = yes("JSON", false); err != nil {
		return b, err
	}
	stores := []string{
		bucketURL("s3", get("STORAGE_S3_BUCKET"), "region", get("STORAGE_S3_REGION"), "endpoint", get("STORAGE_S3_ENDPOINT"), "use_path_style", yesText(pathStyle), "prefix", folder(get("STORAGE_S3_PREFIX"))),
		bucketURL("gs", get("STORAGE_GCS_BUCKET"), "prefix", folder(get("STORAGE_GCS_PREFIX"))),
		bucketURL("azblob", get("STORAGE_AZURE_CONTAINER"), "storage_account", get("STORAGE_AZURE_ACCOUNT"), "prefix", folder(get("STORAGE_AZURE_PREFIX"))),
	}
	stores = slices.DeleteFunc(stores, func(store string) bool { return store == "" })
	if len(stores) > 1 {
		return b, fmt.Errorf("%sSTORAGE_…: they name more than one bucket", boringPrefix)
	}
	b.store = strings.Join(stores, "")
	b.address, b.cert, b.key = get("LISTEN_ADDRESS"), get("TLS_CERT_FILE"), get("TLS_KEY_FILE")
	b.noMirror, b.mirrorCached = !mirror, !pull
	if format := get("STORAGE_MODULE_ARCHIVE_FORMAT"); format != "" && format != "tar.gz" {
		return b, fmt.Errorf("%sSTORAGE_MODULE_ARCHIVE_FORMAT %q: only tar.gz is supported", boringPrefix, format)
	}
	for i, token := range strings.Split(get("AUTH_STATIC_TOKEN"), ",") {
		if token = strings.TrimSpace(token); token != "" {
			b.grants = append(b.grants, access.GrantOf(fmt.Sprintf("boring-%d", i+1), token, access.Rights{Read: []string{access.Everything}}))
		}
	}
	for _, name := range set {
		if short := strings.TrimPrefix(name, boringPrefix); !used[name] && !slices.Contains(boringIgnored, short) {
			return b, fmt.Errorf("the variable %s is not supported. Unset it; authentication is by --tokens FILE, or by the server of \"yuba up\"", name)
		}
	}
	return b, nil
}

func yesText(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// folder is a prefix of keys that ends with a slash.
func folder(prefix string) string {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return prefix
}

// bucketURL makes the URL of a bucket; empty without one.
func bucketURL(scheme, bucket string, parameters ...string) string {
	if bucket == "" {
		return ""
	}
	query := url.Values{}
	for pair := range slices.Chunk(parameters, 2) {
		if pair[1] != "" {
			query.Set(pair[0], pair[1])
		}
	}
	u := url.URL{Scheme: scheme, Host: bucket, RawQuery: query.Encode()}
	return u.String()
}

// applyTo sets what the variables say and no flag does. As in boring-registry, other machines may reach
// the address, and without tokens everybody reads.
func (b boring) applyTo(o *server.ServeRegistryOptions, flag func(name string) bool) {
	if !b.found {
		return
	}
	set := func(name string, to *string, value string) {
		if value != "" && !flag(name) {
			*to = value
		}
	}
	set("store", &o.Store, b.store)
	set("address", &o.Address, cmp.Or(b.address, boringAddress))
	set("tls-cert", &o.TLSCert, b.cert)
	set("tls-key", &o.TLSKey, b.key)
	o.Grants = append(o.Grants, b.grants...)
	o.AllowNonLoopback = o.AllowNonLoopback || b.address != "" && !flag("address")
	o.NoMirror = o.NoMirror || b.noMirror
	o.MirrorOffline = o.MirrorOffline || b.mirrorCached
	if o.TLSCert == "" && !flag("plain-http") {
		o.Plain = true
	}
	if len(o.Grants) == 0 && !flag("tokens") && !flag("anonymous-read") {
		o.AnonymousRead = true
		if !b.noMirror && !b.mirrorCached && !flag("mirror-allow") { // its variable lets everybody make it download
			o.MirrorAllow = []string{"*/*/*"}
		}
	}
}
