// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"cmp"
	_ "embed" // for HashiCorp's key
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

// Terraform's releases, and the key that signs them: https://www.hashicorp.com/trust/security.
const (
	terraformURL         = "https://releases.hashicorp.com/terraform"
	terraformFingerprint = "c874011f0ab405110d02105534365d9472d7468f"
)

//go:embed hashicorp.asc
var terraformKey string

// The tools that have releases.
const (
	Tofu      = "tofu"
	Terraform = "terraform"
)

// Source is the location of releases, and their signer. The zero value is OpenTofu itself.
type Source struct {
	// Tool is Tofu or Terraform; empty means Tofu.
	Tool string
	// URL is the address of a mirror: https, http, or file for a directory on this machine. Empty
	// means ReleasesURL.
	URL string
	// KeyFile contains the armoured public keys, one of which must have signed. Empty means
	// OpenTofu's own key.
	KeyFile string
}

// Product is the name of the tool for people.
func (s Source) Product() string {
	if s.Tool == Terraform {
		return "Terraform"
	}
	return "OpenTofu"
}

// name is the name of the program.
func (s Source) name() string { return cmp.Or(s.Tool, Tofu) }

// base is the address of the releases.
func (s Source) base() string {
	if s.Tool == Terraform {
		return cmp.Or(s.URL, terraformURL)
	}
	return cmp.Or(s.URL, ReleasesURL)
}

// folder is the directory of a version.
func (s Source) folder(version string) string {
	if s.Tool == Terraform {
		return version
	}
	return "v" + version
}

// Sums is the name of a version's list of checksums, Signature that of the list's signature.
func (s Source) Sums(version string) string { return s.name() + "_" + version + "_SHA256SUMS" }

// Signature is the name of the signature of a version's list of checksums.
func (s Source) Signature(version string) string {
	if s.Tool == Terraform {
		return s.Sums(version) + ".sig"
	}
	return s.Sums(version) + ".gpgsig"
}

// Archive is the name of a version's archive for a platform.
func (s Source) Archive(version, os, arch string) string {
	suffix := ".tar.gz"
	if s.Tool == Terraform {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s%s", s.name(), version, os, arch, suffix)
}

// Shown returns the source's URL without its secrets.
func (s Source) Shown() string { return outbound.Show(s.base()) }

// at returns the URL of a release's file.
func (s Source) at(version, file string) (*url.URL, error) {
	base, err := s.parsed()
	if err != nil {
		return nil, err
	}
	return base.JoinPath(s.folder(version), file), nil
}

// parsed returns the URL of the releases.
func (s Source) parsed() (*url.URL, error) {
	base, err := url.Parse(s.base())
	if err != nil {
		return nil, fmt.Errorf("the source of %s's releases is not a URL; use https://HOST/PATH, or file:///DIRECTORY", s.Product())
	}
	switch {
	case (base.Scheme == "https" || base.Scheme == "http") && base.Host != "":
	case base.Scheme == "file" && base.Host == "" && base.Path != "":
	default:
		return nil, fmt.Errorf("the source of %s's releases is %s; use https://HOST/PATH, or file:///DIRECTORY", s.Product(), s.Shown())
	}
	return base, nil
}

// keys returns the keys whose signatures are accepted.
func (s Source) keys() (openpgp.EntityList, error) {
	if s.KeyFile == "" {
		return s.ownKeys()
	}
	text, err := os.ReadFile(s.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s's releases: %w", s.Product(), err)
	}
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s's releases: %s does not contain armoured public keys: %w", s.Product(), s.KeyFile, err)
	}
	return keys, nil
}

// ownKeys returns the key of the tool's maker.
func (s Source) ownKeys() (openpgp.EntityList, error) {
	text, want := branding.DefaultGPGKey, fingerprint
	if s.Tool == Terraform {
		text, want = terraformKey, terraformFingerprint
	}
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s's key: %w. This is a bug in Yuba", s.Product(), err)
	}
	for _, key := range keys {
		if got := fmt.Sprintf("%x", key.PrimaryKey.Fingerprint); got != want {
			return nil, fmt.Errorf("read %s's key: its fingerprint is %s, not %s. This is a bug in Yuba", s.Product(), got, want)
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
	switch {
	case s.KeyFile == "" && s.Tool == Terraform:
		return "HashiCorp's key " + strings.ToUpper(terraformFingerprint)
	case s.KeyFile == "":
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
