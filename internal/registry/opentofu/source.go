// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/opentofu/tofudl/branding"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Pinned is the version that Yuba is developed and tested with, and the default to install.
const Pinned = "1.12.6"

// ReleasesURL is the address of OpenTofu's releases.
const ReleasesURL = "https://github.com/opentofu/opentofu/releases/download"

// fingerprint identifies the key with which OpenTofu signs its releases. The key itself comes with
// a library; this guards against a library with another key.
const fingerprint = "e3e6e43d84cb852eadb0051d0c0af313e5fd9f80"

// Source is the location of releases, and their signer. The zero value is OpenTofu itself.
type Source struct {
	// URL is the address of a mirror: https, http, or file for a directory on this machine. Empty
	// means ReleasesURL.
	URL string
	// KeyFile contains the armoured public keys, one of which must have signed. Empty means
	// OpenTofu's own key.
	KeyFile string
}

// Shown returns the source's URL without its secrets.
func (s Source) Shown() string { return outbound.Show(cmp.Or(s.URL, ReleasesURL)) }

// at returns the URL of a release's file.
func (s Source) at(version, file string) (*url.URL, error) {
	base, err := url.Parse(cmp.Or(s.URL, ReleasesURL))
	if err != nil {
		return nil, errors.New("the source of OpenTofu's releases is not a URL; use https://HOST/PATH, or file:///DIRECTORY")
	}
	switch {
	case (base.Scheme == "https" || base.Scheme == "http") && base.Host != "":
	case base.Scheme == "file" && base.Host == "" && base.Path != "":
	default:
		return nil, fmt.Errorf("the source of OpenTofu's releases is %s; use https://HOST/PATH, or file:///DIRECTORY", s.Shown())
	}
	return base.JoinPath("v"+version, file), nil
}

// keys returns the keys whose signatures are accepted.
func (s Source) keys() (openpgp.EntityList, error) {
	if s.KeyFile == "" {
		return ownKeys()
	}
	text, err := os.ReadFile(s.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the keys of OpenTofu's releases: %w", err)
	}
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the keys of OpenTofu's releases: %s does not contain armoured public keys: %w", s.KeyFile, err)
	}
	return keys, nil
}

func ownKeys() (openpgp.EntityList, error) {
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(branding.DefaultGPGKey))
	if err != nil {
		return nil, fmt.Errorf("read OpenTofu's key: %w. This is a bug in Yuba", err)
	}
	for _, key := range keys {
		if fmt.Sprintf("%x", key.PrimaryKey.Fingerprint) != fingerprint {
			return nil, fmt.Errorf("read OpenTofu's key: its fingerprint is %x, not %s. This is a bug in Yuba", key.PrimaryKey.Fingerprint, fingerprint)
		}
	}
	return keys, nil
}

// signer verifies the signature of a release's checksums, and returns the fingerprint of the key
// that made it.
func (s Source) signer(sums, signature []byte) (string, error) {
	keys, err := s.keys()
	if err != nil {
		return "", err
	}
	check := openpgp.CheckDetachedSignature
	if bytes.HasPrefix(signature, []byte("-----BEGIN")) {
		check = openpgp.CheckArmoredDetachedSignature
	}
	key, err := check(keys, bytes.NewReader(sums), bytes.NewReader(signature), nil)
	if err != nil {
		return "", fmt.Errorf("it is not signed by %s: %w", s.authority(), err)
	}
	return fmt.Sprintf("%X", key.PrimaryKey.Fingerprint), nil
}

// authority names the required signer.
func (s Source) authority() string {
	if s.KeyFile == "" {
		return "OpenTofu's key " + strings.ToUpper(fingerprint)
	}
	return "the keys in " + s.KeyFile
}

var plainVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z][0-9A-Za-z.-]*)?$`)

// ParseVersion parses the version of a release, such as 1.12.6 or v1.12.6.
func ParseVersion(text string) (string, error) {
	version := strings.TrimPrefix(text, "v")
	if !plainVersion.MatchString(version) {
		return "", fmt.Errorf("%q is not a version of OpenTofu: expected three numbers, such as %s", text, Pinned)
	}
	return version, nil
}

// sumOf finds the checksum of a file in a list.
func sumOf(sums []byte, file string) (string, bool) {
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.TrimPrefix(strings.TrimSpace(name), "*") == file {
			return strings.ToLower(sum), true
		}
	}
	return "", false
}
