// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMachinesInstallK3sFromAMirror runs the script of the cloud-config, with the directories of a machine below another one, and
// curl and sha256sum of this machine.
func TestMachinesInstallK3sFromAMirror(t *testing.T) {
	suffix := map[string]string{"amd64": "", "arm64": "-arm64"}[runtime.GOARCH]
	const missing = "(it is not there)"
	program, pack := "k3s"+suffix, "k3s-airgap-images-"+runtime.GOARCH+".tar.zst"
	for sentence, test := range map[string]struct {
		airGap bool
		// mirror changes what the server has.
		mirror map[string]string
		sums   map[string]any
		packed map[string]any
		fails  string
		images bool
	}{
		"with the release's list":                      {},
		"behind an air gap":                            {airGap: true, images: true},
		"with the checksum of the blueprint":           {sums: map[string]any{runtime.GOARCH: sumOf("the program")}, mirror: map[string]string{"list": ""}},
		"another program":                              {mirror: map[string]string{program: "another"}, fails: program + " does not have the SHA-256"},
		"other images":                                 {airGap: true, mirror: map[string]string{pack: "others"}, fails: pack + " does not have the SHA-256"},
		"images that the release does not list":        {airGap: true, mirror: map[string]string{"list": sumOf("the program") + "  " + program + "\n"}, fails: "does not list " + pack + ", which needs a checksum in kubernetes.airgap_sha256"},
		"a program that the release does not list":     {mirror: map[string]string{"list": "<html>"}, fails: "does not list " + program + ", which needs a checksum in kubernetes.sha256"},
		"images without a list":                        {airGap: true, sums: map[string]any{runtime.GOARCH: sumOf("the program")}, mirror: map[string]string{"list": missing}, fails: pack + " needs a checksum in kubernetes.airgap_sha256"},
		"a program without a list":                     {mirror: map[string]string{"list": missing}, fails: program + " needs a checksum in kubernetes.sha256"},
		"both checksums of the blueprint, and no list": {airGap: true, images: true, sums: map[string]any{runtime.GOARCH: sumOf("the program")}, packed: map[string]any{runtime.GOARCH: sumOf("the images")}, mirror: map[string]string{"list": missing}},
		"other images than the blueprint says":         {airGap: true, packed: map[string]any{runtime.GOARCH: sumOf("others")}, fails: pack + " does not have the SHA-256"},
	} {
		t.Run(sentence, func(t *testing.T) {
			files := map[string]string{program: "the program", pack: "the images", "list": sumOf("the program") + "  " + program + "\n" + sumOf("the images") + "  " + pack + "\n"}
			for name, text := range test.mirror {
				files[name] = text
			}
			server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				name := strings.TrimPrefix(r.URL.Path, "/k3s/v1/")
				if name == "sha256sum-"+runtime.GOARCH+".txt" {
					name = "list"
				}
				text, ok := files[name]
				if !ok || text == missing {
					http.NotFound(out, r)
					return
				}
				fmt.Fprint(out, text)
			}))
			defer server.Close()
			kubernetes := map[string]any{"binary_url": server.URL + "/k3s/v1"}
			for name, sums := range map[string]map[string]any{"sha256": test.sums, "airgap_sha256": test.packed} {
				if sums != nil {
					kubernetes[name] = sums
				}
			}
			root := install(t, render(t, map[string]any{"air_gap": test.airGap, "kubernetes": kubernetes})["acme-eu-1-server-1"], server, test.fails)
			got, err := os.ReadFile(filepath.Join(root, "usr", "local", "bin", "k3s"))
			if test.fails == "" && string(got) != "the program" || test.fails != "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the machine has the program %q, %v", got, err)
			}
			packed, _ := os.ReadFile(filepath.Join(root, "var", "lib", "rancher", "k3s", "agent", "images", "k3s.tar.zst"))
			if test.images != (string(packed) == "the images") {
				t.Errorf("the machine has the images %q", packed)
			}
		})
	}
}

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// install runs the script below a directory, which it returns.
func install(t *testing.T, machine rendered, server *httptest.Server, fails string) (root string) {
	t.Helper()
	root = t.TempDir()
	ca := filepath.Join(root, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"usr/local/bin", "run", "etc/yuba"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	moved := strings.NewReplacer(" /run/", " "+root+"/run/", "=/run/", "="+root+"/run/", "--retry 20", "--retry 0", "/etc/yuba/", root+"/etc/yuba/", "/usr/local/bin/", root+"/usr/local/bin/", "=/var/lib/", "="+root+"/var/lib/")
	script := filepath.Join(root, "install-k3s")
	if err := errors.Join(os.WriteFile(script, []byte(moved.Replace(machine.files["/usr/local/lib/yuba/install-k3s"])), 0o600),
		os.WriteFile(filepath.Join(root, "etc", "yuba", "k3s.env"), []byte(machine.files["/etc/yuba/k3s.env"]), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CURL_CA_BUNDLE=" + ca}
	out, err := cmd.CombinedOutput()
	if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(string(out), fails)) {
		t.Errorf("%v, want %q: %s", err, fails, out)
	}
	return root
}

// TestMachinesBehindAnAirGapDownloadNothing: what cloud-init would fetch from the Internet fails the plan.
func TestMachinesBehindAnAirGapDownloadNothing(t *testing.T) {
	for _, kubernetes := range []map[string]any{{}, {"binary_url": "https://github.com/k3s-io/k3s/releases/download/v1.34.2%2Bk3s1"}} {
		dir := filepath.Join(modules(t), "cloud-init")
		s := newShell(t, t.TempDir())
		s.must(dir, "init", "-input=false", "-no-color")
		args := []string{"plan", "-input=false", "-no-color"}
		for name, value := range map[string]any{"platform": "acme", "region": "eu-1", "control_planes": 1, "workers": 0, "subnets": []any{map[string]any{"id": "s", "zone": "", "cidr": "10.20.0.0/16"}},
			"api_address": "203.0.113.7", "join_token": joinToken, "air_gap": true, "kubernetes": kubernetes} {
			args = append(args, "-var", name+"="+jsonOf(t, value))
		}
		out, err := s.tofu(dir, args...)
		if plain := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "); err == nil || !strings.Contains(plain, "The machines would download k3s from the Internet, and air_gap is true.") {
			t.Errorf("%v: %v %s", kubernetes, err, out)
		}
	}
}
