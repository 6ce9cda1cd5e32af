// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// platform is a home of a platform, its blueprint and its modules.
type platform struct {
	*testing.T
	dir, home, blueprint string
	cloud                *cloud.Cloud
}

// bootstrapEvent is a line of "yuba bootstrap -o json".
type bootstrapEvent struct {
	Time                                        time.Time
	Phase, Level, Message, State, Event, Reason string
	Ready                                       bool
	Phases                                      map[string]string
}

// bootstrapPatience limits a bootstrap, which takes some 15 seconds on an idle machine.
const bootstrapPatience = 5 * time.Minute

// newPlatform writes modules whose resources are objects of a cloud.
func newPlatform(t *testing.T) *platform {
	t.Helper()
	buildProvider(t)
	dir, err := os.MkdirTemp("", "yuba-platform-")
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{T: t, dir: dir, home: filepath.Join(dir, "home"), blueprint: filepath.Join(dir, "platform.yaml"), cloud: cloud.Start()}
	t.Cleanup(func() {
		if err := proctest.End(dir); err != nil {
			t.Error(err)
		}
		p.cloud.Close()
		os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	})
	p.module("local/preflight", "data \"yubatest_object\" \"account\" {\n  name = \"account\"\n}\n")
	p.module("local/network", objects("net", 2)+"output \"network\" {\n  value = { id = yubatest_object.net[0].name }\n}\n")
	p.module("local/machines", objects("node", 3)+`
variable "network" { type = object({ id = string }) }
variable "join_token" {
  type      = string
  sensitive = true
}
output "machines" {
  value = { api_endpoint = "https://192.0.2.10:6443", addresses = ["192.0.2.10"], nodes = yubatest_object.node[*].name, network = var.network.id }
}
`)
	p.module("kubernetes", objects("cluster", 1)+"variable \"machines\" { type = object({ api_endpoint = string }) }\n")
	p.cloud.Put("account", "it is there")
	p.file("cloud.env", fmt.Sprintf("# of the test\nexport YUBATEST_ENDPOINT=%q\nYUBATEST_TOKEN=%s\n", p.cloud.URL(), p.cloud.Token()))
	return p
}

// objects are resources of a module.
func objects(name string, n int) string {
	return fmt.Sprintf("resource \"yubatest_object\" %q {\n  count   = %d\n  name    = \"${var.platform}-%s-${count.index}\"\n  content = var.platform\n}\n", name, n, name)
}

// module writes a module of a phase. Only modules of a provider get its credentials, so the others have their own.
func (p *platform) module(path, text string) {
	p.Helper()
	provider := providerHCL
	if !strings.HasPrefix(path, "local/") {
		provider = strings.ReplaceAll(provider, "{}", fmt.Sprintf("{\n  endpoint = %q\n  token    = %q\n}", p.cloud.URL(), p.cloud.Token()))
	}
	p.file(filepath.Join("modules", path, "main.tf"), provider+"variable \"platform\" { type = string }\n"+text)
}

func (p *platform) file(name, text string) {
	p.Helper()
	name = filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		p.Fatal(err)
	}
}

// write writes the blueprint: the kind and the modules are always the same.
func (p *platform) write(spec string) {
	p.Helper()
	p.file("platform.yaml", `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  library: {sourceRef: {kind: ExternalArtifact, name: modules}, preflight: true}
  phases: [{name: gitops, disabled: true}]
`+spec)
}

// command is "yuba bootstrap …" on the home.
func (p *platform) command(args ...string) *exec.Cmd {
	args = append([]string{"bootstrap"}, args...)
	args = append(args, "--home", p.home)
	return exec.Command(filepath.Join(programs, "yuba"), args...)
}

// serving are the flags of a command that may run a home.
func (p *platform) serving() []string {
	return []string{"--tofu", tofutest.Tofu(p.T), "--provider-mirror", providerMirror(), "-o", "json", "--timeout", bootstrapPatience.String()}
}

// from are the arguments that make the platform.
func (p *platform) from(more ...string) []string {
	return slices.Concat([]string{"--from", p.blueprint, "--modules", filepath.Join(p.dir, "modules"), "--credentials", "cloud=" + filepath.Join(p.dir, "cloud.env")}, p.serving(), more)
}

// run runs a command to its end, and returns its events and the exit code.
func (p *platform) run(args ...string) (events []bootstrapEvent, said string, code int) {
	p.Helper()
	cmd := p.command(args...)
	var out, news bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &news
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return eventsOf(p.T, &out), news.String(), cmd.ProcessState.ExitCode()
}

func eventsOf(t *testing.T, out *bytes.Buffer) (events []bootstrapEvent) {
	t.Helper()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e bootstrapEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		events = append(events, e)
	}
	return events
}

// makes runs a bootstrap that succeeds.
func (p *platform) makes(more ...string) []bootstrapEvent {
	p.Helper()
	events, said, code := p.run(p.from(more...)...)
	if code != 0 || len(events) == 0 || !events[len(events)-1].Ready {
		log, _ := os.ReadFile(filepath.Join(p.home, "bootstrap.log")) //nolint:errcheck // for the message
		p.Fatalf("exit code %d, said %s\nevents %+v\nserver: %s", code, said, events, log[max(0, len(log)-4000):])
	}
	return events
}

const oneRegion = `  approval: Auto
  regions:
  - {name: eu, provider: local, controlPlanes: 3, credentialsRef: {name: cloud}}
`

func TestABootstrapFromABlueprint(t *testing.T) {
	p := newPlatform(t)
	p.module("vault", objects("vault", 1))
	p.module("portal", objects("portal", 1))
	began := time.Now()

	// 1. From nothing to a platform, one phase after the other.
	p.write(oneRegion + "  components: [{name: portal, dependsOn: [vault]}, {name: vault}]\n")
	events := p.makes()
	var ready []string
	for _, e := range events {
		if e.State == "Planning" || e.State == "Applying" {
			t.Logf("%s %s after %s", e.Phase, e.State, e.Time.Sub(began).Round(10*time.Millisecond))
		}
		if e.State == "Ready" {
			ready = append(ready, e.Phase)
		}
	}
	if want := []string{"eu/preflight", "eu/network", "eu/machines", "eu/kubernetes", "eu/vault", "eu/portal"}; !slices.Equal(ready, want) {
		t.Errorf("ready in the order %v, want %v", ready, want)
	}
	p.has("account", "acme-eu-net-0", "acme-eu-net-1", "acme-eu-node-0", "acme-eu-node-1", "acme-eu-node-2", "acme-eu-cluster-0", "acme-eu-vault-0", "acme-eu-portal-0")

	// 2. The same again does nothing.
	p.makes()
	for _, name := range p.cloud.Names("acme-") {
		if n := p.cloud.Count("PUT", name); n != 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}

	// 3. Another region is added.
	p.write(oneRegion + "  - {name: us, provider: local, credentialsRef: {name: cloud}}\n  components: [{name: portal, dependsOn: [vault]}, {name: vault}]\n")
	p.makes()
	if n := len(p.cloud.Names("acme-us-")); n != 8 {
		t.Errorf("the second region has %d objects: %v", n, p.cloud.Names("acme-us-"))
	}

	// 4. A component that another one needs cannot go alone. Nothing changes.
	p.write(oneRegion + "  - {name: us, provider: local, credentialsRef: {name: cloud}}\n  components: [{name: portal, dependsOn: [vault]}]\n")
	if _, said, code := p.run(p.from("--yes")...); code != 2 || !strings.Contains(said, "no component vault; remove it here, too") {
		t.Errorf("exit code %d, said %s", code, said)
	}

	// 5. A component and a region go, after a confirmation.
	p.write(oneRegion + "  components: [{name: vault}]\n")
	if _, said, code := p.run(p.from()...); code != 2 || !strings.Contains(said, "has lost eu/portal, us/preflight, us/network") {
		t.Errorf("exit code %d, said %s", code, said)
	}
	p.makes("--yes")
	p.has("account", "acme-eu-net-0", "acme-eu-net-1", "acme-eu-node-0", "acme-eu-node-1", "acme-eu-node-2", "acme-eu-cluster-0", "acme-eu-vault-0")

	// 6. Everything goes.
	events, said, code := p.run(append([]string{"decommission", "acme", "--yes"}, p.serving()...)...)
	if code != 0 || events[len(events)-1].Reason != "Decommissioned" {
		t.Errorf("exit code %d, said %s, events %+v", code, said, events)
	}
	p.has("account")

	// Nothing that the commands wrote has the token.
	if out, err := exec.Command("grep", "-rlF", p.cloud.Token(), filepath.Join(p.home, "bootstrap.log"), p.blueprint).CombinedOutput(); err == nil {
		t.Errorf("the token is in %s", out)
	}
}

// has checks that these objects are in the cloud, and no others.
func (p *platform) has(names ...string) {
	p.Helper()
	slices.Sort(names)
	if got := p.cloud.Names(""); !slices.Equal(got, names) {
		p.Errorf("the cloud has %v, want %v", got, names)
	}
}

func TestABootstrapThatCannotGoOn(t *testing.T) {
	p := newPlatform(t)

	// Credentials that do not exist: nothing is made.
	p.write(oneRegion)
	events, said, code := p.run(append([]string{"--from", p.blueprint, "--modules", filepath.Join(p.dir, "modules")}, p.serving()...)...)
	if code != 1 || !strings.Contains(said, "The Secret cloud does not exist") || len(p.cloud.Names("acme-")) > 0 {
		t.Errorf("exit code %d, said %s, events %v", code, said, events)
	}

	// Credentials that are wrong: the preflight says so, and nothing is made.
	p.file("cloud.env", fmt.Sprintf("YUBATEST_ENDPOINT=%s\nYUBATEST_TOKEN=wrong-token\n", p.cloud.URL()))
	_, said, code = p.run(p.from("--attempts", "1")...)
	if code != 4 || !strings.Contains(said, "eu/preflight has failed") || len(p.cloud.Names("acme-")) > 0 || strings.Contains(said, "wrong-token") {
		t.Errorf("exit code %d, said %s", code, said)
	}

	// A quota at the third machine of three: what exists stays, and the platform goes on when there is room.
	p.file("cloud.env", fmt.Sprintf("YUBATEST_ENDPOINT=%s\nYUBATEST_TOKEN=%s\n", p.cloud.URL(), p.cloud.Token()))
	p.cloud.Fail("PUT", "acme-eu-node-2", 403, "quota exhausted")
	_, said, code = p.run(p.from("--attempts", "1")...)
	if code != 4 || !strings.Contains(said, "eu/machines has failed") {
		t.Errorf("exit code %d, said %s", code, said)
	}
	p.cloud.Fail("PUT", "acme-eu-node-2", 0, "")
	events, said, code = p.run(append([]string{"resume"}, p.serving()...)...)
	if code != 0 {
		t.Fatalf("exit code %d, said %s, events %v", code, said, events)
	}
	p.has("account", "acme-eu-net-0", "acme-eu-net-1", "acme-eu-node-0", "acme-eu-node-1", "acme-eu-node-2", "acme-eu-cluster-0")
	for _, name := range []string{"acme-eu-node-0", "acme-eu-node-1"} {
		if n := p.cloud.Count("PUT", name); n != 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}
}
