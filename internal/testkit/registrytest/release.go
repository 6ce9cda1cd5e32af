// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Release describes a release of a provider in detail. The zero value has no platforms.
type Release struct {
	// Archives are the packed archives by OS_ARCH; Files are archives on disk.
	Archives map[string][]byte
	Files    map[string]string
	// Signer signs; nil means the registry's key. NoKeys reports no keys at all.
	Signer *Signer
	NoKeys bool
	// Signature replaces the signature, for a wrong or empty one.
	Signature *string
	// Report adds "packages" with these hashes, as registries for OpenTofu 1.12 do.
	Report map[string]Reported
	// Sums changes the list of sums before it is signed.
	Sums func(string) string
}

// Reported is what a registry reports of a package.
type Reported struct {
	Hashes []string `json:"hashes"`
	Size   int64    `json:"package_size"`
}

// Signer is an OpenPGP key.
type Signer struct {
	entity *openpgp.Entity
	// Armor is the public key.
	Armor string
}

// NewSigner makes a key that was created at a time, and lives this long; 0 means for ever.
func NewSigner(t T, created time.Time, life time.Duration) *Signer {
	t.Helper()
	entity, err := openpgp.NewEntity("Signer of the tests", "", "signer@example.com", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return created }, KeyLifetimeSecs: uint32(life.Seconds()),
	})
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	s := &Signer{entity: entity}
	s.Armor = s.export(t)
	return s
}

// Revoke returns the public key with its revocation.
func (s *Signer) Revoke(t T) string {
	t.Helper()
	if err := s.entity.RevokeKey(packet.KeyCompromised, "test", nil); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	return s.export(t)
}

func (s *Signer) export(t T) string {
	t.Helper()
	return armored(t, openpgp.PublicKeyType, s.entity.Serialize)
}

// Private returns the armoured private key.
func (s *Signer) Private(t T) string {
	t.Helper()
	return armored(t, openpgp.PrivateKeyType, func(w io.Writer) error { return s.entity.SerializePrivate(w, nil) })
}

func armored(t T, kind string, write func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, kind, nil)
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("write the key: %v", err)
	}
	return out.String()
}

// ID is the key's id.
func (s *Signer) ID() string { return s.entity.PrimaryKey.KeyIdString() }

// Sign returns a detached signature that was made at a time.
func (s *Signer) Sign(t T, data []byte, at time.Time) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := openpgp.DetachSign(&out, s.entity, bytes.NewReader(data), &packet.Config{Time: func() time.Time { return at }}); err != nil {
		t.Fatalf("sign: %v", err)
	}
	return out.Bytes()
}

// Zip packs files, as the archive of a platform.
func Zip(t T, files map[string][]byte) []byte { return packed(t, files) }

// Sums makes a list of sums of files by name.
func Sums(files map[string][]byte) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&out, "%s  %s\n", hexSum(files[name]), name)
	}
	return out.String()
}

// PublishRelease makes a release of a provider, NAMESPACE/TYPE.
func (r *Registry) PublishRelease(provider, version string, of Release) {
	r.t.Helper()
	_, name, _ := strings.Cut(provider, "/")
	rel := &release{archives: map[string]archive{}, reported: of.Report}
	list := ""
	for platform, data := range of.Archives {
		rel.archives[platform] = archive{data: data, sum: hexSum(data), size: int64(len(data))}
	}
	for platform, path := range of.Files {
		rel.archives[platform] = onDisk(r.t, path)
	}
	for _, platform := range slices.Sorted(maps.Keys(rel.archives)) {
		list += fmt.Sprintf("%s  %s\n", rel.archives[platform].sum, archiveName(name, version, platform))
	}
	if of.Sums != nil {
		list = of.Sums(list)
	}
	rel.sums = []byte(list)
	signer := &Signer{entity: r.signer, Armor: r.key}
	if of.Signer != nil {
		signer = of.Signer
	}
	created := signer.entity.PrimaryKey.CreationTime.Add(time.Second)
	rel.signature = signer.Sign(r.t, rel.sums, created)
	if of.Signature != nil {
		rel.signature = []byte(*of.Signature)
	}
	rel.keys = []any{map[string]string{"key_id": signer.ID(), "ascii_armor": signer.Armor}}
	if of.NoKeys {
		rel.keys = []any{}
	}
	r.add(provider, version, rel)
}

// archive is the archive of a platform, in memory or on disk.
type archive struct {
	data []byte
	path string
	sum  string
	size int64
}

func onDisk(t T, path string) archive {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return archive{path: path, sum: hex.EncodeToString(hash.Sum(nil)), size: size}
}

// sendFile sends an archive on disk, and parts of it.
func (r *Registry) sendFile(w http.ResponseWriter, req *http.Request, a archive) {
	file, err := os.Open(a.path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close() //nolint:errcheck // it was only read
	http.ServeContent(w, req, "", time.Time{}, file)
}
