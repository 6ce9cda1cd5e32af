// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

const joinToken = "0123456789abcdef0123456789abcdef"

// rendered is the cloud-config of one machine.
type rendered struct {
	text  string
	files map[string]string
	modes map[string]string
	// commands are those of runcmd.
	commands [][]string
	k3s      map[string]any
}

// render renders the cloud-configs of all machines.
func render(t *testing.T, change map[string]any) map[string]rendered {
	t.Helper()
	dir := filepath.Join(modules(t), "cloud-init")
	// Sensitive outputs of a root module are in "output -json".
	variables := map[string]any{
		"platform": "acme", "region": "eu-1", "control_planes": 3, "workers": 1, "domain": "acme.example.org",
		"subnets":     []any{map[string]any{"id": "s", "zone": "", "cidr": "10.20.0.0/16"}},
		"api_address": "203.0.113.7", "join_token": joinToken, "call_home_token": "one-time-token",
		"call_home":           map[string]any{"url": "https://yuba.example.com/call-home/platform/acme", "ca": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"},
		"ssh_authorized_keys": []any{"ssh-ed25519 AAAA: # a key with a 'comment'"},
	}
	for k, v := range change {
		variables[k] = v
	}
	var texts map[string]string
	if err := json.Unmarshal(newShell(t, t.TempDir()).outputs(dir, variables)["user_data"], &texts); err != nil {
		t.Fatal(err)
	}
	all := map[string]rendered{}
	for name, text := range texts {
		all[name] = read(t, text)
	}
	return all
}

func read(t *testing.T, text string) rendered {
	t.Helper()
	var config struct {
		WriteFiles []struct{ Path, Content, Permissions string } `json:"write_files"`
		RunCmd     [][]string                                    `json:"runcmd"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	r := rendered{text: text, files: map[string]string{}, modes: map[string]string{}, commands: config.RunCmd}
	for _, f := range config.WriteFiles {
		r.files[f.Path], r.modes[f.Path] = f.Content, f.Permissions
	}
	if err := yaml.Unmarshal([]byte(r.files["/etc/rancher/k3s/config.yaml"]), &r.k3s); err != nil {
		t.Fatal(err)
	}
	return r
}

// checkSchema checks a cloud-config against cloud-init's schema.
func checkSchema(t *testing.T, text string) error {
	t.Helper()
	var schema spec.Schema
	content, err := os.ReadFile("testdata/cloud-config.schema.json")
	if err == nil {
		err = json.Unmarshal(content, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(text, "#cloud-config\n")
	if !ok {
		return fmt.Errorf("cloud-init takes it for something else: it begins with %.20q", text)
	}
	var value any
	if err := yaml.UnmarshalStrict([]byte(rest), &value); err != nil {
		return err
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default).Validate(value).AsError()
}

func TestCloudConfigsHaveTheSchemaOfCloudInit(t *testing.T) {
	for name, r := range render(t, nil) {
		if err := checkSchema(t, r.text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, r.text)
		}
		for path, mode := range r.modes {
			if secret := strings.Contains(r.files[path], joinToken) || strings.Contains(r.files[path], "one-time-token"); secret && mode != "0600" {
				t.Errorf("%s: %s has a secret and the mode %s", name, path, mode)
			}
		}
		for _, args := range r.commands {
			if all := strings.Join(args, " "); strings.Contains(all, joinToken) || strings.Contains(all, "one-time-token") {
				t.Errorf("%s: an argument has a secret: %s", name, all)
			}
		}
	}
	// The check itself finds what is wrong.
	for wrong, text := range map[string]string{
		"another key":           "#cloud-config\nrun_cmd: [[ls]]\n",
		"a mode that is octal":  "#cloud-config\nwrite_files: [{path: /a, permissions: 0600}]\n",
		"a shell's script":      "#!/bin/sh\n",
		"a command that is one": "#cloud-config\nruncmd: [ls]\n",
		"a path from nowhere":   "#cloud-config\nwrite_files: [{path: a}]\n",
	} {
		if checkSchema(t, text) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// documented reads testdata/k3s-options.txt.
func documented(t *testing.T) (server, equal, all []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/k3s-options.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		name := words[len(words)-1]
		all = append(all, name)
		if words[0] == "server" {
			server = append(server, name)
		}
		if slices.Contains(words, "equal") {
			equal = append(equal, name)
		}
	}
	return server, equal, all
}

func TestOptionsAreThoseThatK3sDocuments(t *testing.T) {
	server, equal, all := documented(t)
	for _, cni := range []string{"flannel", "external"} {
		nodes := render(t, map[string]any{"kubernetes": map[string]any{"cni": cni, "node_labels": map[string]any{"team": "blue"}}})
		first := nodes["acme-eu-1-server-1"].k3s
		for name, r := range nodes {
			for key := range r.k3s {
				if !slices.Contains(all, key) {
					t.Errorf("%s: k3s does not document %s", name, key)
				}
				if strings.Contains(name, "agent") && slices.Contains(server, key) {
					t.Errorf("%s: an agent does not take %s", name, key)
				}
			}
			for _, key := range equal {
				if diff := cmp.Diff(first[key], r.k3s[key]); diff != "" && !strings.Contains(name, "agent") {
					t.Errorf("%s: %s differs from the first server's: %s", name, key, diff)
				}
			}
		}
	}
}

// TestTheTuningOfSeed003 has the values of the platform that the modules follow. The quota is a number: etcd does not
// read "1GB".
func TestTheTuningOfSeed003(t *testing.T) {
	nodes := render(t, map[string]any{"kubernetes": map[string]any{"cni": "external"}})
	got := nodes["acme-eu-1-server-1"].k3s
	want := map[string]any{
		"token": joinToken, "cluster-init": true, "node-name": "acme-eu-1-server-1", "node-ip": "10.20.0.10", "node-label": []any{},
		"disable":         []any{"traefik", "servicelb", "local-storage"},
		"flannel-backend": "none", "disable-network-policy": true,
		"kube-controller-manager-arg": []any{"node-monitor-period=5s", "node-monitor-grace-period=20s"},
		"kube-apiserver-arg":          []any{"default-watch-cache-size=50"},
		"etcd-arg":                    []any{"quota-backend-bytes=1073741824"},
		"kubelet-arg":                 []any{"max-pods=50"},
		"cluster-cidr":                "10.42.0.0/16", "service-cidr": "10.43.0.0/16",
		"secrets-encryption": true, "write-kubeconfig-mode": "0600",
		"tls-san": []any{"203.0.113.7", "api.acme.example.org"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	if got := nodes["acme-eu-1-server-2"].k3s["server"]; got != "https://10.20.0.10:6443" {
		t.Errorf("the second server joins %v", got)
	}
}

func TestOnlyTheFirstMachineCallsHome(t *testing.T) {
	for name, r := range render(t, nil) {
		if calls := strings.Contains(r.text, "call-home"); calls != (name == "acme-eu-1-server-1") {
			t.Errorf("%s calls home: %v", name, calls)
		}
	}
	for name, r := range render(t, map[string]any{"call_home": nil}) {
		if strings.Contains(r.text, "call-home") || checkSchema(t, r.text) != nil {
			t.Errorf("without a home, %s has\n%s", name, r.text)
		}
	}
}

// Values of users end in files and scripts of the machine: none may become a command.
func TestHostileValuesAreRefused(t *testing.T) {
	dir := filepath.Join(modules(t), "cloud-init")
	s := newShell(t, t.TempDir())
	s.must(dir, "init", "-no-color")
	base := []string{"plan", "-no-color", "-input=false", "-var=platform=acme", "-var=region=eu-1", "-var=control_planes=1", "-var=workers=0", "-var=api_address=203.0.113.7",
		`-var=subnets=[{id="s",zone="",cidr="10.20.0.0/16"}]`, "-var=join_token=" + joinToken}
	if out, err := s.tofu(dir, base...); err != nil {
		t.Fatal(out)
	}
	for value, want := range map[string]string{
		"join_token=x'; reboot; '0123456789abcdef0123456789": "join_token has",
		"join_token=short":     "join_token has",
		"call_home_token=a\nb": "call_home_token is",
		`call_home={url="https://x/'$(reboot)'",ca="-----BEGIN CERTIFICATE-----"}`: "call_home has",
		`call_home={url="http://x/y",ca="-----BEGIN CERTIFICATE-----"}`:            "call_home has",
		`call_home={url="https://x/y",ca=""}`:                                      "call_home has",
		`kubernetes={version="latest"}`:                                            "is a release of k3s",
		`kubernetes={cni="none"}`:                                                  "kubernetes.cni is",
		`kubernetes={disable=["flannel"]}`:                                         "set cni to external",
		`kubernetes={etcd_quota_bytes=1}`:                                          "is a number of bytes",
		`kubernetes={sha256={amd64="abc"}}`:                                        "has 64 hexadecimal digits",
		`kubernetes={binary_url="https://x/'; reboot; '"}`:                         "kubernetes.binary_url is",
		`kubernetes={node_monitor_period=10,node_monitor_grace_period=15}`:         "is at least twice",
		`subnets=[{id="s",zone="",cidr="10.20.0.0/29"}]`:                           "cidrhost",
	} {
		out, err := s.tofu(dir, append(slices.Clone(base), "-var="+value)...)
		if flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "); err == nil || !strings.Contains(flat, want) {
			t.Errorf("%s: %v, want %q\n%s", value, err, want, out)
		}
	}
}

// The scripts are those of a POSIX shell: images of machines have no other one for sure.
func TestScriptsParse(t *testing.T) {
	for path, content := range render(t, nil)["acme-eu-1-server-1"].files {
		if !strings.HasPrefix(content, "#!/bin/sh") && !strings.HasSuffix(path, ".env") {
			continue
		}
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(content)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}
