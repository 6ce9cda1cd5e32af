// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Provider is the name of a provider. Host is empty for the registry's own, and the origin's host
// for mirrored ones.
type Provider struct {
	Host, Namespace, Name string
}

// String returns NAMESPACE/NAME, or HOST/NAMESPACE/NAME.
func (p Provider) String() string {
	if p.Host == "" {
		return p.Namespace + "/" + p.Name
	}
	return p.Host + "/" + p.Namespace + "/" + p.Name
}

// plainHost is a host with an optional port, as sources of providers have it.
var plainHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?$`)

// ParseProvider parses NAMESPACE/NAME or HOST/NAMESPACE/NAME.
func ParseProvider(text string) (Provider, error) {
	parts := strings.Split(text, "/")
	p := Provider{}
	switch len(parts) {
	case 2:
		p.Namespace, p.Name = parts[0], parts[1]
	case 3:
		p.Host, p.Namespace, p.Name = parts[0], parts[1], parts[2]
		if !plainHost.MatchString(p.Host) || len(p.Host) > 253 {
			return p, fmt.Errorf("the host %q of a provider: expected a name in lower case, such as registry.opentofu.org", shorten.Cut(p.Host, 80))
		}
	default:
		return p, fmt.Errorf("the provider %q: expected NAMESPACE/NAME, such as acme/thing", shorten.Cut(text, 80))
	}
	for what, name := range map[string]string{"namespace": p.Namespace, "name": p.Name} {
		if !plainName.MatchString(name) {
			return p, fmt.Errorf("the %s %q of a provider: expected at most 64 lower-case letters, digits, - and _, and a letter or digit first and last", what, shorten.Cut(name, 80))
		}
	}
	return p, nil
}

// dir is the directory of the provider's keys, with a slash at its end.
func (p Provider) dir() string {
	if p.Host == "" {
		return ProvidersPrefix + p.String() + "/"
	}
	return MirrorPrefix + p.String() + "/"
}

// SigningKeysKey is the key of the public keys that sign a namespace's own providers.
func SigningKeysKey(namespace string) string {
	return ProvidersPrefix + namespace + "/signing-keys.json"
}

// Platform is an operating system and an architecture, as Go names them.
type Platform struct {
	OS, Arch string
}

// String returns OS_ARCH.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

var plainPlatform = regexp.MustCompile(`^([a-z0-9]{1,20})_([a-z0-9]{1,20})$`)

// ParsePlatform parses OS_ARCH.
func ParsePlatform(text string) (Platform, error) {
	m := plainPlatform.FindStringSubmatch(text)
	if m == nil {
		return Platform{}, fmt.Errorf("the platform %q: expected OS_ARCH, such as linux_amd64", shorten.Cut(text, 80))
	}
	return Platform{m[1], m[2]}, nil
}

// ProviderVersion is one version of a provider.
type ProviderVersion struct {
	Provider
	Version string
}

// String returns the provider's name, "@" and the version.
func (v ProviderVersion) String() string { return v.Provider.String() + "@" + v.Version }

// base is the beginning of the names of a version's files.
func (v ProviderVersion) base() string { return "terraform-provider-" + v.Name + "_" + v.Version + "_" }

// Archive is the name of a platform's archive.
func (v ProviderVersion) Archive(p Platform) string { return v.base() + p.String() + ".zip" }

// Sums is the name of the list of checksums.
func (v ProviderVersion) Sums() string { return v.base() + "SHA256SUMS" }

// Signature is the name of the detached signature of that list.
func (v ProviderVersion) Signature() string { return v.Sums() + ".sig" }

// Key is the key of one of the version's files.
func (v ProviderVersion) Key(file string) string { return v.dir() + file }

// OwnKey is the key of what the registry knows of the version.
func (v ProviderVersion) OwnKey() string { return OwnPrefix + v.dir() + v.Version + ".json" }

// ProviderFile is a file of a version: an archive, or with an empty Platform the list of checksums or
// its signature.
type ProviderFile struct {
	ProviderVersion
	Platform Platform
	// Name is the file's, without directories.
	Name string
}

// ProviderOfKey returns the file that has the key; false for keys that are not of a provider, or not
// of this layout.
func ProviderOfKey(key string) (ProviderFile, bool) {
	text, mirrored := strings.CutPrefix(key, MirrorPrefix)
	if !mirrored {
		var ok bool
		if text, ok = strings.CutPrefix(key, ProvidersPrefix); !ok {
			return ProviderFile{}, false
		}
	}
	i := strings.LastIndex(text, "/")
	if i < 0 {
		return ProviderFile{}, false
	}
	p, err := ParseProvider(text[:i])
	if err != nil || (p.Host != "") != mirrored {
		return ProviderFile{}, false
	}
	return fileOf(p, text[i+1:])
}

// fileOf parses the name of a provider's file.
func fileOf(p Provider, name string) (ProviderFile, bool) {
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+p.Name+"_")
	version, rest, found := strings.Cut(rest, "_")
	if _, err := ParseVersion(version); !ok || !found || err != nil {
		return ProviderFile{}, false
	}
	f := ProviderFile{ProviderVersion: ProviderVersion{p, version}, Name: name}
	if name == f.Sums() || name == f.Signature() {
		return f, true
	}
	platform, ok := strings.CutSuffix(rest, ".zip")
	if !ok {
		return ProviderFile{}, false
	}
	var err error
	f.Platform, err = ParsePlatform(platform)
	return f, err == nil
}
