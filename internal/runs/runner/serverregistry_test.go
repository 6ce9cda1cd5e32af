// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// ownHost is the host of the server's registry. It resolves to nothing.
const ownHost = "registry.yuba.invalid:7445"

// registryBench is a bench whose server has a registry, which the stacks know nothing of.
type registryBench struct {
	*storeBench
	mu sync.Mutex
	// forbidden namespaces may read nothing.
	forbidden map[string]bool
	// closed are the paths of what is revoked. Stacks by these names have it.
	closed, has map[string]bool
	asked       map[string]int
}

func newRegistryBench(t *testing.T) *registryBench {
	b := &registryBench{storeBench: newStoreBench(t), forbidden: map[string]bool{}, closed: map[string]bool{}, has: map[string]bool{}, asked: map[string]int{}}
	b.server.registry = b
	return b
}

// ServeHTTP is the registry of the server.
func (b *registryBench) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := req.Context().Value(asRun{}).(*fakeRun) //nolint:forcetypeassert,errcheck // the fake server set it
	b.mu.Lock()
	b.asked[r.spec.Stack.Namespace+"/"+r.spec.Stack.Name]++
	revoked := run.Revoked(req.Header.Get(run.HeaderRevoked))
	withRevoked := revoked == run.AllRevoked && r.spec.Destroy || revoked == run.UsedRevoked && r.spec.KeepsRevoked() && b.has[r.spec.Stack.Name]
	forbidden, closed := b.forbidden[r.spec.Stack.Namespace], b.closed[req.URL.Path] && !withRevoked
	b.mu.Unlock()
	switch {
	case forbidden:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errors":["system:serviceaccount:%s:%s cannot get modules.content.yuba.dev/acme"]}`, r.spec.Stack.Namespace, r.spec.ServiceAccount)
	case closed && strings.HasSuffix(req.URL.Path, "/download"):
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"errors":["it was revoked"]}`)
	case closed:
		fmt.Fprint(w, `{"modules":[{"versions":[]}]}`)
	default:
		b.registry.Relative().ServeHTTP(w, req)
	}
}

// plan makes a run of a program in a namespace, as after a commit.
func (b *registryBench) plan(namespace, name string, files map[string]string) *fakeRun {
	r := b.stack(name, run.OperationPlan, files)
	r.spec.Stack.Namespace, r.spec.Stack.UID = namespace, namespace+name
	r.spec.ServiceAccount, r.spec.Upgrade = "tf-runner", true
	r.spec.Registry = &run.Registry{Host: ownHost, Mirror: &run.Mirror{}}
	return r
}

const ownModule = ownHost + "/acme/net/test"

func (b *registryBench) module(version string) {
	b.registry.PublishModule("acme/net/test", version, map[string][]byte{"main.tf": []byte(oneThing + "output \"edition\" {\n  value = \"" + version + "\"\n}\n")})
}

func TestModulesOfTheServersRegistryNeedNoConfiguration(t *testing.T) {
	b := newRegistryBench(t)
	b.module("1.0.0")
	b.start()
	files := program(call("net", ownModule, "~> 1.0"))
	first := b.plan("team", "first", files)
	b.succeed(first)
	planned(t, first, 1)
	logged(t, first, "Modules: 1 downloaded")
	second := b.plan("team", "second", files)
	b.succeed(second)
	logged(t, second, "Modules: 1 from the store")
	if got := b.registry.Counts(); got.ModuleVersions != 1 || got.Modules != 1 {
		t.Errorf("%+v", got)
	}
	b.module("1.0.1")
	again := b.plan("team", "first", files)
	b.succeed(again)
	logged(t, again, "Modules: 1 downloaded")
	text, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "first", "src", ".terraform/modules/net/main.tf"))
	if err != nil || !strings.Contains(string(text), "1.0.1") {
		t.Errorf("%v %s", err, text)
	}
	quiet := b.plan("team", "first", files)
	quiet.spec.Upgrade = false
	before := b.asked["team/first"]
	b.succeed(quiet)
	if b.asked["team/first"] != before {
		t.Errorf("a pass without news asked the registry %d times", b.asked["team/first"]-before)
	}
}

// What one namespace got is not given to another, whether it may read it or not.
func TestEachNamespaceAsksForItself(t *testing.T) {
	b := newRegistryBench(t)
	b.module("1.0.0")
	b.forbidden["outside"] = true
	b.start()
	files := program(call("net", ownModule, "1.0.0"))
	b.succeed(b.plan("team", "s", files))
	refused := b.plan("outside", "s", files)
	result := b.do(refused)
	want := "This server's registry answered 403 Forbidden for /v1/modules/acme/net/test/versions: system:serviceaccount:outside:tf-runner cannot get modules.content.yuba.dev/acme"
	if result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepInit || !strings.Contains(result.Error, want) {
		t.Errorf("%+v\n%s", result, refused.log)
	}
	b.succeed(b.plan("other", "s", files))
	if got := b.registry.Counts(); got.Modules != 2 {
		t.Errorf("%+v", got)
	}
}

func TestADestroyGetsRevokedVersions(t *testing.T) {
	b := newRegistryBench(t)
	b.module("1.0.0")
	b.closed["/v1/modules/acme/net/test/versions"] = true
	b.start()
	files := program(call("net", ownModule, "1.0.0"))
	r := b.plan("team", "gone", files)
	r.spec.Destroy = true
	b.succeed(r)
	logged(t, r, "Modules: 1 downloaded")
	late := b.plan("team", "late", files)
	if result := b.do(late); result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepInit {
		t.Errorf("a revoked version from the store of a destroy: %+v\n%s", result, late.log)
	}
}

// A stack that has a revoked version keeps it where it begins anew, as in a Pod, and gets it to be destroyed.
// Others do not get it from the store.
func TestAStackKeepsTheRevokedVersionThatItHas(t *testing.T) {
	b := newRegistryBench(t)
	b.module("1.0.0")
	b.closed["/v1/modules/acme/net/test/versions"], b.closed["/v1/modules/acme/net/test/1.0.0/download"] = true, true
	b.has["has"] = true
	b.start()
	files := program(call("net", ownModule, "~> 1.0"))
	do := func(name string, revoked, upgrade, destroy bool) (*fakeRun, *run.Result) {
		r := b.plan("team", name, files)
		r.spec.Registry.Revoked, r.spec.Upgrade, r.spec.Destroy = revoked, upgrade, destroy
		r.spec.Stack.UID += fmt.Sprint(destroy) // another working directory
		return r, b.do(r)
	}
	for _, destroy := range []bool{false, true} {
		if r, result := do("has", true, destroy, destroy); result.Error != "" {
			t.Errorf("destroy %v: %+v\n%s", destroy, result, r.log)
		}
	}
	if r, result := do("has", true, true, false); result.Error == "" {
		t.Errorf("an upgrade took a revoked version\n%s", r.log)
	}
	for _, revoked := range []bool{false, true} {
		if r, result := do("has-not", revoked, false, false); result.Error == "" {
			t.Errorf("another stack got a revoked version\n%s", r.log)
		}
	}
}

// What is in the store is only used if the registry would give it now, for exact versions as well.
func TestWhatTheRegistryNoLongerGivesIsNotTakenFromTheStore(t *testing.T) {
	for name, version := range map[string]string{"a range": "~> 1.0", "an exact version": "1.0.0"} {
		t.Run(name, func(t *testing.T) {
			b := newRegistryBench(t)
			b.module("1.0.0")
			b.start()
			files := program(call("net", ownModule, version))
			b.succeed(b.plan("team", "first", files))
			b.mu.Lock()
			b.closed["/v1/modules/acme/net/test/1.0.0/download"] = true
			b.closed["/v1/modules/acme/net/test/versions"] = true
			b.mu.Unlock()
			refused := func(stack string) {
				t.Helper()
				r := b.plan("team", stack, files)
				if result := b.do(r); result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepInit {
					t.Errorf("%s: %+v\n%s", stack, result, r.log)
				}
			}
			refused("revoked")
			b.mu.Lock()
			clear(b.closed)
			b.forbidden["team"] = true
			b.mu.Unlock()
			refused("forbidden")
			b.mu.Lock()
			clear(b.forbidden)
			b.mu.Unlock()
			again := b.plan("team", "again", files)
			b.succeed(again)
			logged(t, again, "Modules: 1 from the store")
		})
	}
}

// A module in git may call modules of the registry.
func TestModulesFromElsewhereThatCallTheRegistry(t *testing.T) {
	b := newRegistryBench(t)
	b.module("1.0.0")
	m := &moduleBench{storeBench: b.storeBench}
	from := m.registry.ServeModule("wrapper", map[string][]byte{"main.tf": []byte(call("inner", ownModule, "1.0.0"))})
	b.start()
	r := b.trusting(b.plan("team", "wrapped", program(call("wrapper", from, ""))))
	b.succeed(r)
	planned(t, r, 1)
	logged(t, r, "Modules: 1 from the store, 1 downloaded")
}

// An init of the stack's own, which the runner's stores leave alone, finds the registry, too.
func TestTheStacksOwnInitFindsTheRegistry(t *testing.T) {
	for name, change := range map[string]func(*fakeRun){
		"arguments": func(r *fakeRun) {
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "TF_CLI_ARGS_init", Value: "-lock-timeout=1s"})
		},
		"its own file": func(r *fakeRun) {
			r.spec.CLIConfig = []byte("plugin_cache_dir = \"/nowhere\"\n")
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "TF_CLI_ARGS_init", Value: "-lock-timeout=1s"})
		},
		"its own JSON": func(r *fakeRun) {
			r.spec.CLIConfig = []byte("{\"disable_checkpoint\":true}")
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "TF_CLI_ARGS_init", Value: "-lock-timeout=1s"})
		},
		"an isolated network": func(r *fakeRun) {
			isolated(r, "192.0.2.1:1")
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "TF_CLI_ARGS_init", Value: "-lock-timeout=1s"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRegistryBench(t)
			if name == "an isolated network" {
				b.needsTunnels()
			}
			b.module("1.0.0")
			b.start()
			r := b.plan("team", "own", program(call("net", ownModule, "~> 1.0")))
			change(r)
			if name == "its own file" {
				r.spec.CLIConfig = []byte("disable_checkpoint = true\n")
			}
			b.succeed(r)
			planned(t, r, 1)
			if strings.Contains(string(r.log), "Modules: ") {
				t.Errorf("from the store:\n%s", r.log)
			}
			config, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "own", workspace.CLIConfigName))
			if err == nil && strings.Contains(string(config), ownHost) {
				t.Errorf("the configuration still names the registry:\n%s", config)
			}
		})
	}
}

func TestADownloadInAnIsolatedNetwork(t *testing.T) {
	b := newRegistryBench(t)
	b.needsTunnels()
	b.module("1.0.0")
	b.publish("1.2.3")
	b.start()
	r := isolated(b.plan("team", "alone", b.program(ownHost+"/"+thing, "1.2.3")), "192.0.2.1:1")
	b.installed(r)
	logged(t, r, "1.2.3 downloaded")
	m := isolated(b.plan("team", "module", program(call("net", ownModule, "~> 1.0"))), "192.0.2.1:1")
	b.succeed(m)
	logged(t, m, "Modules: 1 downloaded")
}

func TestProvidersThroughTheServer(t *testing.T) {
	b := newRegistryBench(t)
	b.publish("1.2.3")
	b.start()
	own, other := b.registry.Hashes(thing, "1.2.3")
	first := b.plan("team", "public", b.program(thing, "~> 1.0"))
	b.installed(first)
	logged(t, first, "Providers: "+thing+" 1.2.3 downloaded")
	if lock := string(first.result.LockFile); !strings.Contains(lock, own) || !strings.Contains(lock, other) || !strings.Contains(lock, "registry.opentofu.org/"+thing) {
		t.Errorf("lock file:\n%s", lock)
	}
	second := b.plan("other", "public", b.program(thing, "1.2.3"))
	b.installed(second)
	logged(t, second, "Providers: "+thing+" 1.2.3 from the store") // public: all namespaces share it
	mine := b.plan("team", "own", b.program(ownHost+"/"+thing, "~> 1.0"))
	b.installed(mine)
	logged(t, mine, "Providers: "+ownHost+"/"+thing+" 1.2.3 downloaded")
	theirs := b.plan("other", "own", b.program(ownHost+"/"+thing, "1.2.3"))
	b.installed(theirs)
	logged(t, theirs, "Providers: "+ownHost+"/"+thing+" 1.2.3 downloaded") // access is by namespace
	if link := b.link("own", "1.2.3"); !strings.HasPrefix(link, b.opts.ProviderStore) {
		t.Errorf("linked to %q", link)
	}
}

// A mirror that cannot give a provider says so, at once.
func TestAProviderThatTheMirrorCannotGive(t *testing.T) {
	b := newRegistryBench(t)
	b.server.registry = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, `{"errors":["registry.opentofu.org does not answer, and the mirror does not have acme/thing"]}`)
	})
	b.start()
	r := b.plan("team", "s", b.program(thing, "1.2.3"))
	result := b.do(r)
	if result.FailedStep != run.StepInit || !strings.Contains(result.Error, "get the provider registry.opentofu.org/acme/thing 1.2.3") ||
		!strings.Contains(result.Error, "registry.opentofu.org does not answer, and the mirror does not have acme/thing") {
		t.Errorf("%+v\n%s", result, r.log)
	}
}

// Stacks with settings of their own use the network as before.
func TestWhoDoesNotUseTheMirror(t *testing.T) {
	for sentence, change := range map[string]func(*fakeRun){
		"certificates of its own": func(*fakeRun) {},
		"an older server":         func(r *fakeRun) { r.spec.Registry = nil },
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newRegistryBench(t).publishing("1.2.3")
			b.start()
			r := b.trusting(b.plan("team", "s", b.program(b.registry.Source(thing), "1.2.3")))
			change(r)
			b.installed(r)
			if b.asked["team/s"] != 0 {
				t.Errorf("asked the server %d times", b.asked["team/s"])
			}
		})
	}
}

func (b *registryBench) publishing(version string) *registryBench {
	b.publish(version)
	return b
}

// The server restarts with another address in the middle of a download.
func TestADownloadSurvivesARestartOfTheServer(t *testing.T) {
	b := newRegistryBench(t)
	b.registry.Publish(thing, "1.2.3", incompressible(registrytest.Program("thing", "1.2.3")))
	b.start()
	resume := b.registry.Halt()
	r := b.server.submit(b.plan("team", "s", b.program(thing, "1.2.3")))
	for deadline := time.Now().Add(time.Minute); b.registry.Counts().Archives == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no download begins")
		}
	}
	b.server.http.CloseClientConnections()
	go b.server.http.Close() // it waits for the halted request
	b.server.start()
	resume()
	if result := b.server.finished(r); result.FailedStep != run.StepPlan {
		t.Fatalf("%s: %s\n%s", result.FailedStep, result.Error, r.log)
	}
	logged(t, r, "Providers: "+thing+" 1.2.3 downloaded")
}

// incompressible adds a file that does not compress, so that half of the archive does not fit into buffers.
func incompressible(files map[string][]byte) map[string][]byte {
	noise := make([]byte, 8<<20)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	files["noise"] = noise
	return files
}

// The run that began a download ends, and another one waits for it.
func TestADownloadGoesOnWithTheTokenOfAnotherRun(t *testing.T) {
	b := newRegistryBench(t)
	b.publish("1.2.3")
	r := b.runner()
	runs := []*execution.Run{execution.New(r.Equipment, t.TempDir(), "one", "t1"), execution.New(r.Equipment, t.TempDir(), "two", "t2")}
	for i, namespace := range []string{"team", "other"} {
		runs[i].Spec = run.Spec{Stack: run.Stack{Namespace: namespace, Name: "s"}, Registry: &run.Registry{Host: ownHost}}
		runs[i].JoinRegistry()
	}
	second := b.server.submit(&fakeRun{spec: runs[1].Spec})
	second.spec.ID = "two"
	b.server.mu.Lock()
	b.server.runs["two"], second.token = second, "t2"
	b.server.mu.Unlock()
	for path, want := range map[string]int{
		"/v1/upstream/registry.opentofu.org/acme/thing/versions": http.StatusOK,
		"/v1/providers/acme/thing/versions":                      http.StatusUnauthorized, // of another namespace
	} {
		answer, err := runs[0].OpenRegistry(run.NoRevoked)(t.Context(), http.MethodGet, path, http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

// A provider that the mirror must not serve comes from its own registry, as without a mirror. If that
// does not answer, the failure names both reasons.
func TestAProviderThatTheMirrorDeclines(t *testing.T) {
	b := newRegistryBench(t)
	b.server.registry = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"errors":["127.0.0.1 has an address on this machine"]}`)
	})
	b.publish("1.2.3")
	b.start()
	r := b.plan("team", "s", b.program(b.registry.Source(thing), "1.2.3")) // it does not trust that registry
	result := b.do(r)
	if result.FailedStep != run.StepInit || !strings.Contains(result.Error, "certificate") ||
		!strings.Contains(result.Error, "This server's mirror does not serve it: 127.0.0.1 has an address on this machine") {
		t.Errorf("%+v\n%s", result, r.log)
	}
}
