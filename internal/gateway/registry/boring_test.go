// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/own"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The names in this file are written out, and do not come from package layout: they are
// boring-registry's published layout, with which the package must agree.

// boringHost is a registry that does not exist, so everything of it is from the bucket.
const boringHost = "registry.example.com"

// boringTar packs files as boring-registry does: with entries for directories, and names without "./".
func boringTar(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if dir := filepath.Dir(name); dir != "." && !made[dir] {
			made[dir] = true
			if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
				t.Fatal(err)
			}
		}
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = io.WriteString(w, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// boringProvider are the files of a version of a provider, signed, by name.
func boringProvider(t testing.TB, name, version string, signer *registrytest.Signer) map[string][]byte {
	t.Helper()
	base := "terraform-provider-" + name + "_" + version + "_"
	files := map[string][]byte{}
	for _, platform := range []string{runtime.GOOS + "_" + runtime.GOARCH, "plan9_riscv64"} {
		files[base+platform+".zip"] = registrytest.Zip(t, registrytest.Program(name, version+platform))
	}
	sums := []byte(registrytest.Sums(files))
	files[base+"SHA256SUMS"] = sums
	files[base+"SHA256SUMS.sig"] = signer.Sign(t, sums, time.Now().Add(-time.Minute))
	return files
}

// boringBucket is what boring-registry leaves in its bucket.
func boringBucket(t testing.TB, dir string, signer *registrytest.Signer) {
	t.Helper()
	keys, err := json.Marshal(map[string]any{"gpg_public_keys": []any{map[string]string{"key_id": signer.ID(), "ascii_armor": signer.Armor}}})
	if err != nil {
		t.Fatal(err)
	}
	bucket := map[string][]byte{
		"providers/acme/signing-keys.json":                           keys,
		"mirror/providers/" + boringHost + "/corp/signing-keys.json": keys,
		// A module whose name begins with another's, which boring-registry lists as versions of both.
		"modules/acme/vpc/awscc/acme-vpc-awscc-9.9.9.tar.gz": boringTar(t, map[string]string{"main.tf": ""}),
	}
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0-rc1"} {
		bucket["modules/acme/vpc/aws/acme-vpc-aws-"+version+".tar.gz"] = boringTar(t, map[string]string{
			"main.tf":            "module \"name\" {\n  source = \"./name/inner\"\n}\noutput \"is\" {\n  value = \"${module.name.is} " + version + "\"\n}\n",
			"name/inner/main.tf": "output \"is\" {\n  value = \"a boring vpc\"\n}\n",
		})
	}
	for name, data := range boringProvider(t, "thing", "1.0.0", signer) {
		bucket["providers/acme/thing/"+name] = data
	}
	for name, data := range boringProvider(t, "other", "3.2.1", signer) {
		bucket["mirror/providers/"+boringHost+"/corp/other/"+name] = data
	}
	for key, data := range bucket {
		path := filepath.Join(dir, filepath.FromSlash(key))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func testABucketOfBoringRegistry(t *testing.T, program string) {
	s := newSite(t)
	signer := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	boringBucket(t, s.dir, signer) // while the registry runs, as when both use one bucket
	l := s.laptop(program, s.reader)
	config, err := os.ReadFile(filepath.Join(l.home, "tool.rc"))
	if err != nil {
		t.Fatal(err)
	}
	l.write("tool.rc", fmt.Sprintf("%s\nprovider_installation {\n  network_mirror {\n    url     = \"%s/v1/mirror/\"\n    include = [\"%s/*/*\"]\n  }\n  direct {\n    exclude = [\"%s/*/*\"]\n  }\n}\n",
		config, s.http.URL, boringHost, boringHost))
	l.write("main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    thing = { source = \"%s/acme/thing\" }\n    other = { source = \"%s/corp/other\", version = \"~> 3.0\" }\n  }\n}\n",
		s.host(), boringHost)+calls(s.host(), "~> 1.0"))
	out, err := l.run("init", "-no-color")
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, s.log.String())
	}
	for _, want := range []string{"Installed " + s.host() + "/acme/thing v1.0.0 (", "Installed " + boringHost + "/corp/other v3.2.1 (", signer.ID()} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
	lock, err := os.ReadFile(filepath.Join(l.home, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	// boring-registry knows zh: hashes only; of what it stored, h1: ones are served, too.
	for _, scheme := range []string{`"h1:`, `"zh:`} {
		if strings.Count(string(lock), scheme) < 2 {
			t.Errorf("no %s hashes of both providers:\n%s", scheme, lock)
		}
	}
	modules, err := os.ReadFile(filepath.Join(l.home, ".terraform", "modules", "modules.json"))
	if err != nil || !strings.Contains(string(modules), `"Version":"1.1.0"`) {
		t.Errorf("%v, %s", err, modules)
	}
	if inner := filepath.Join(l.home, ".terraform", "modules", "vpc", "name", "inner", "main.tf"); textOf(inner) == "" {
		t.Errorf("%s is missing", inner)
	}
	if _, body := s.ask("GET", "/v1/modules/acme/vpc/aws/versions", s.reader); strings.Contains(body, "9.9.9") {
		t.Errorf("versions of acme/vpc/awscc: %s", body)
	}
}

func textOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

func TestTofuInstallsFromABucketOfBoringRegistry(t *testing.T) {
	testABucketOfBoringRegistry(t, tofutest.Tofu(t))
}

func TestTerraformInstallsFromABucketOfBoringRegistry(t *testing.T) {
	testABucketOfBoringRegistry(t, terraform(t))
}

// boringKeys are the keys that boring-registry reads, as its published layout has them.
var boringKeys = regexp.MustCompile(`^(` +
	`modules/([^/]+)/([^/]+)/([^/]+)/[^/]+\.tar\.gz|` +
	`providers/[^/]+/signing-keys\.json|` +
	`providers/([^/]+)/([^/]+)/terraform-provider-[^/_]+_[^/_]+_([a-z0-9]+_[a-z0-9]+\.zip|SHA256SUMS|SHA256SUMS\.sig))$`)

// TestWhatIsPublishedHasTheLayoutOfBoringRegistry compares the bucket with the keys and bytes that
// boring-registry reads for the same modules and providers.
func TestWhatIsPublishedHasTheLayoutOfBoringRegistry(t *testing.T) {
	var providers *own.Store
	s := newSite(t, func(s *site, o *registry.Options) { providers = o.Providers.(*own.Store) })
	signer := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	if _, err := providers.AddKey(t.Context(), "acme", []byte(signer.Armor)); err != nil {
		t.Fatal(err)
	}
	s.publish("acme/vpc/aws@1.0.0")
	s.publish("acme/vpc/aws@1.1.0-rc1")
	files := boringProvider(t, "thing", "1.0.0", signer)
	var upload bytes.Buffer
	w := tar.NewWriter(&upload)
	for name, data := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := providers.Publish(t.Context(), layout.ProviderVersion{Provider: layout.Provider{Namespace: "acme", Name: "thing"}, Version: "1.0.0"}, &upload, "ci"); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"providers/acme/signing-keys.json": nil, "modules/acme/vpc/aws/acme-vpc-aws-1.0.0.tar.gz": nil, "modules/acme/vpc/aws/acme-vpc-aws-1.1.0-rc1.tar.gz": nil}
	for name, data := range files {
		want["providers/acme/thing/"+name] = data
	}
	for key, data := range stored(t, s.bucket) {
		if strings.HasPrefix(key, "yuba/") { // boring-registry lists none of its prefixes there
			continue
		}
		bytesOf, expected := want[key]
		if !expected || !boringKeys.MatchString(key) {
			t.Errorf("%s is not a key of boring-registry's", key)
		}
		if bytesOf != nil && !bytes.Equal(bytesOf, data) {
			t.Errorf("%s has other bytes than were uploaded", key)
		}
		switch {
		case strings.HasSuffix(key, ".tar.gz"):
			if names := tarNames(t, data); !slices.Contains(names, "main.tf") {
				t.Errorf("%s has %v: the module is not at its root", key, names)
			}
		case strings.HasSuffix(key, "signing-keys.json"):
			checkBoringKeys(t, data, signer)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", slices.Sorted(maps.Keys(want)))
	}
}

// checkBoringKeys reads signing-keys.json as boring-registry does.
func checkBoringKeys(t testing.TB, data []byte, signer *registrytest.Signer) {
	t.Helper()
	var keys struct {
		GPG []struct {
			ID    string `json:"key_id"`
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	}
	if err := json.Unmarshal(data, &keys); err != nil || len(keys.GPG) != 1 || keys.GPG[0].ID != signer.ID() ||
		!strings.HasPrefix(keys.GPG[0].Armor, "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
		t.Errorf("%v, %s", err, data)
	}
}

func stored(t testing.TB, bucket *blob.Plain) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for info, err := range bucket.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if found[info.Key], err = bucket.Get(t.Context(), info.Key, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func tarNames(t testing.TB, data []byte) (names []string) {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(gz); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}
