// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// initWith has the real tofu install a provider in an empty directory.
func initWith(t *testing.T, r *Registry, source, config string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	program := "terraform {\n  required_providers {\n    x = { source = \"" + source + "\" }\n  }\n}\n"
	for name, text := range map[string]string{"main.tf": program, "tofu.rc": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tofutest.Tofu(t), "init", "-no-color")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + r.CAFile(dir), "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "tofu.rc"), "TF_REGISTRY_DISCOVERY_RETRY=0"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTofuInstallsFromIt(t *testing.T) {
	r := New(t)
	r.Publish("acme/thing", "1.2.3", Program("thing", "1.2.3"))
	if out, err := initWith(t, r, r.Source("acme/thing"), ""); err != nil || !strings.Contains(out, "Installed "+r.Source("acme/thing")+" v1.2.3 (signed, key ID") {
		t.Fatalf("%v %s", err, out)
	}
	want := Counts{Versions: 1, Archives: 1, Bytes: r.Size("acme/thing", "1.2.3")}
	if r.Counts() != want {
		t.Errorf("%+v, want %+v", r.Counts(), want)
	}
	mirror := "provider_installation {\n  network_mirror {\n    url = \"" + r.MirrorURL() + "\"\n  }\n}\n"
	if out, err := initWith(t, r, "registry.example.com/acme/thing", mirror); err != nil || strings.Contains(out, "(signed") {
		t.Errorf("from the mirror: %v %s", err, out)
	}
}

func TestTofuRefusesWhatIsNotRight(t *testing.T) {
	for sentence, c := range map[string]struct {
		spoil func(*Registry)
		want  string
	}{
		"a tampered archive": {func(r *Registry) { r.Publish("acme/thing", "2.0.0", Program("thing", "2.0.0"), Tampered) }, "incorrect checksum"},
		"a forged signature": {func(r *Registry) { r.Publish("acme/thing", "2.0.0", Program("thing", "2.0.0"), Forged) }, "signature"},
		"a missing token":    {func(r *Registry) { r.RequireToken("t0ken") }, "requires authentication credentials"},
		"nobody who answers": {func(r *Registry) { r.SetDown(true) }, "EOF"},
		"no such provider":   {func(r *Registry) { delete(r.releases, "acme/thing") }, "Failed to query available provider packages"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := New(t)
			r.Publish("acme/thing", "1.2.3", Program("thing", "1.2.3"))
			c.spoil(r)
			if out, err := initWith(t, r, r.Source("acme/thing"), ""); err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v, want %q:\n%s", err, c.want, out)
			}
		})
	}
}
