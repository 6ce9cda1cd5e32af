// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

const thing = "acme/thing"

// storeBench is a bench with a provider store and a registry that its stacks trust.
type storeBench struct {
	*bench
	registry *registrytest.Registry
	ca       string
}

func newStoreBench(t *testing.T) *storeBench {
	b := &storeBench{bench: newBench(t), registry: registrytest.New(t)}
	b.opts.ProviderStore = filepath.Join(b.data, "provider-store")
	b.opts.ProviderMirror = filepath.Join(b.data, "providers") // the sandbox shows it, and so the certificate in it
	b.ca = b.registry.CAFile(b.opts.ProviderMirror)
	return b
}

func (b *storeBench) publish(version string, faults ...registrytest.Fault) *storeBench {
	b.registry.Publish(thing, version, registrytest.Program("thing", version), faults...)
	return b
}

// program requires a provider in a matching version.
func (b *storeBench) program(source, constraint string) map[string]string {
	return program(fmt.Sprintf("terraform {\n  required_providers {\n    thing = {\n      source = %q\n      version = %q\n    }\n  }\n}\nresource \"thing_a\" \"b\" {}\n", source, constraint))
}

// wants makes a run of a stack that requires the provider.
func (b *storeBench) wants(name, constraint string) *fakeRun {
	return b.trusting(b.stack(name, run.OperationPlan, b.program(b.registry.Source(thing), constraint)))
}

func (b *storeBench) trusting(r *fakeRun) *fakeRun {
	r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "SSL_CERT_FILE", Value: b.ca}, run.EnvVar{Name: "TF_REGISTRY_DISCOVERY_RETRY", Value: "0"})
	return r
}

// installed does a run whose init must succeed. Its plan cannot: the program is not a provider.
func (b *storeBench) installed(r *fakeRun) *run.Result {
	b.t.Helper()
	result := b.do(r)
	if result.FailedStep != run.StepPlan {
		b.t.Fatalf("%s failed in %s: %s\n%s", r.spec.Stack.Name, result.FailedStep, result.Error, r.log)
	}
	return result
}

// link returns the link to the provider in a stack's directory; empty if there is none.
func (b *storeBench) link(name, version string) string {
	matches, _ := filepath.Glob(filepath.Join(b.opts.WorkRoot, "team", name, "src", ".terraform", "providers", "*", "acme", "thing", version, "*_*"))
	for _, m := range matches {
		if target, err := os.Readlink(m); err == nil {
			return target
		}
	}
	return ""
}

func (b *storeBench) lockFile(name string) string {
	text, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", name, "src", workspace.LockFileTF))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func TestTwentyStacksDownloadAProviderOnce(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.opts.Capacity = 20
	b.start()
	resume := b.registry.Halt() // until all have asked
	var all []*fakeRun
	for i := range 20 {
		r := b.wants(fmt.Sprint("s", i), "~> 1.0")
		r.spec.Upgrade = true
		all = append(all, b.server.submit(r))
	}
	resume()
	downloads, hits := 0, 0
	for i, r := range all {
		result := b.server.finished(r)
		if result.FailedStep != run.StepPlan || result.Providers == nil {
			t.Fatalf("%+v\n%s", result, r.log)
		}
		downloads, hits = downloads+result.Providers.Downloads, hits+result.Providers.Hits
		if link := b.link(fmt.Sprint("s", i), "1.2.3"); !strings.HasPrefix(link, b.opts.ProviderStore) {
			t.Errorf("s%d has %q", i, link)
		}
	}
	want := registrytest.Counts{Versions: 1, Archives: 1, Bytes: b.registry.Size(thing, "1.2.3")}
	if got := b.registry.Counts(); got != want || downloads != 1 || hits != 19 {
		t.Errorf("%+v, want %+v; %d downloads and %d hits", got, want, downloads, hits)
	}
	own, other := b.registry.Hashes(thing, "1.2.3")
	for _, hash := range []string{"h1:", own, other} {
		if !strings.Contains(string(all[7].result.LockFile), hash) {
			t.Errorf("%s is not in the lock file:\n%s", hash, all[7].result.LockFile)
		}
	}
}

func TestWhatTheRunSaysOfItsProviders(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	first, second := b.wants("first", "1.2.3"), b.wants("second", "1.2.3")
	b.installed(first)
	if want := "Providers: " + b.registry.Source(thing) + " 1.2.3 downloaded (1 kB unpacked)"; !strings.Contains(string(first.log), want) {
		t.Errorf("%s is not in the log:\n%s", want, first.log)
	}
	b.installed(second)
	if want := "Providers: " + b.registry.Source(thing) + " 1.2.3 from the store"; !strings.Contains(string(second.log), want) {
		t.Errorf("%s is not in the log:\n%s", want, second.log)
	}
}

func TestLockFilesAndTheStore(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3").publish("1.3.0")
	b.start()
	own, other := b.registry.Hashes(thing, "1.2.3")
	lock := func(hashes ...string) string {
		text := ""
		for _, h := range hashes {
			text += fmt.Sprintf("    %q,\n", h)
		}
		return fmt.Sprintf("provider %q {\n  version = \"1.2.3\"\n  hashes = [\n%s  ]\n}\n", b.registry.Source(thing), text)
	}
	stack := func(name, lockFile string) *fakeRun {
		files := b.program(b.registry.Source(thing), "~> 1.0")
		files[workspace.LockFileTF] = lockFile
		return b.trusting(b.stack(name, run.OperationPlan, files))
	}
	b.installed(stack("archives", lock(own, other)))
	for _, hash := range []string{own, other, "h1:"} {
		if text := b.lockFile("archives"); !strings.Contains(text, hash) || !strings.Contains(text, `"1.2.3"`) {
			t.Errorf("%s is missing:\n%s", hash, text)
		}
	}
	strange := "zh:" + strings.Repeat("ab", 32)
	for name, hash := range map[string]string{"archive": strange, "content": "h1:" + strings.Repeat("A", 43) + "="} {
		r := stack("wrong-"+name, lock(hash))
		result := b.do(r)
		if result.FailedStep != run.StepInit || result.Class != run.FailureConfiguration || !strings.Contains(result.Error, hash) ||
			!strings.Contains(result.Error, "1.2.3") || !strings.Contains(result.Error, "tofu providers lock") {
			t.Errorf("%+v", result)
		}
	}
	if b.registry.Counts().Archives != 1 {
		t.Errorf("%+v", b.registry.Counts())
	}
	upgraded := stack("upgraded", lock(own, other))
	upgraded.spec.Upgrade = true
	b.installed(upgraded)
	if text := b.lockFile("upgraded"); !strings.Contains(text, `"1.3.0"`) || strings.Contains(text, own) {
		t.Errorf("not upgraded:\n%s", text)
	}
}

func TestWhatIsWrongWithAPackageFailsTheRun(t *testing.T) {
	for sentence, c := range map[string]struct {
		fault registrytest.Fault
		want  string
	}{
		"a tampered archive": {registrytest.Tampered, "incorrect checksum"},
		"a forged signature": {registrytest.Forged, "signature"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newStoreBench(t).publish("1.2.3", c.fault)
			b.start()
			result := b.do(b.wants("x", "1.2.3"))
			if result.FailedStep != run.StepInit || !strings.Contains(result.Error, c.want) || !strings.Contains(result.Error, "get the provider") {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestWhenTheRegistryIsAway(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	first := b.wants("first", "~> 1.0")
	lockFile := b.installed(first).LockFile
	b.registry.SetDown(true)
	recorded := b.wants("recorded", "~> 1.0")
	recorded.spec.LockFile = lockFile
	b.installed(recorded)
	chosen := b.wants("chosen", "~> 1.0, < 5")
	chosen.spec.LockFile, chosen.spec.Upgrade = lockFile, true
	result := b.installed(chosen)
	if !strings.Contains(strings.Join(result.Warnings, "\n"), "continuing with 1.2.3") {
		t.Errorf("%q", result.Warnings)
	}
	other := b.do(b.wants("other", "~> 2.0"))
	if other.FailedStep != run.StepInit || !strings.Contains(other.Error, "get the provider "+b.registry.Source(thing)+" ~> 2.0") {
		t.Errorf("%+v", other)
	}
}

func TestNetworkMirrorsOfAStackAreSharedByThoseWhoHaveTheSame(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	config := "provider_installation {\n  network_mirror {\n    url = \"" + b.registry.MirrorURL() + "\"\n  }\n}\n"
	stack := func(name, config string) *fakeRun {
		r := b.trusting(b.stack(name, run.OperationPlan, b.program("registry.example.com/acme/thing", "~> 1.0")))
		r.spec.CLIConfig = []byte(config)
		return r
	}
	b.installed(stack("first", config))
	b.installed(stack("second", config))
	if got := b.registry.Counts(); got.Archives != 1 || got.Versions != 1 || b.link("second", "1.2.3") == "" {
		t.Errorf("%+v, %s", got, b.link("second", "1.2.3"))
	}
	b.installed(stack("third", config+"# of somebody else\n"))
	if got := b.registry.Counts(); got.Archives != 2 {
		t.Errorf("another configuration: %+v", got)
	}
}

func TestProvidersBehindCredentialsAreForThoseWhoHaveThem(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.registry.RequireToken("t0ken-of-the-registry")
	b.start()
	allowed := b.wants("allowed", "1.2.3")
	allowed.spec.CLIConfig = fmt.Appendf(nil, "credentials %q {\n  token = \"t0ken-of-the-registry\"\n}\n", b.registry.Host())
	b.installed(allowed)
	byName := b.wants("by-name", "1.2.3")
	name := "TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(strings.Split(b.registry.Host(), ":")[0])
	byName.spec.Env = append(byName.spec.Env, run.EnvVar{Name: name, Value: "another-t0ken", Secret: true})
	for _, r := range []*fakeRun{b.wants("stranger", "1.2.3"), byName} {
		result := b.do(r)
		if result.FailedStep != run.StepInit || !strings.Contains(result.Error, "authentication credentials") {
			t.Errorf("%+v\n%s", result, r.log)
		}
	}
	// The sandbox of the others does not show it either.
	look := b.stack("look", run.OperationPlanAndApply, program(fmt.Sprintf(`
resource "terraform_data" "look" {
  provisioner "local-exec" { command = "cat %[1]s/*/*/*/*/*/*/* 2>/dev/null || echo saw nothing; echo x > %[1]s/written 2>/dev/null || echo wrote nothing" }
}`, filepath.Join(filepath.Dir(b.link("allowed", "1.2.3")), "..", "..", "..", ".."))))
	result := b.succeed(look)
	if result.Confined && (!strings.Contains(string(look.log), "saw nothing") || !strings.Contains(string(look.log), "wrote nothing")) {
		t.Errorf("%s", look.log)
	}
	if found := b.findBelow("t0ken-of-the-registry"); len(found) > 0 {
		t.Errorf("the token is left in %v", found)
	}
}

func TestModulesFromElsewhereHaveNeedsToo(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	module := b.registry.ServeModule("net", map[string][]byte{"main.tf": []byte(b.program(b.registry.Source(thing), "~> 1.0")["main.tf"])})
	for _, name := range []string{"first", "second"} {
		r := b.trusting(b.stack(name, run.OperationPlan, program(fmt.Sprintf("module \"net\" {\n  source = %q\n}\n", module))))
		r.spec.Upgrade = true
		b.installed(r)
		if b.link(name, "1.2.3") == "" {
			t.Errorf("%s does not have it from the store:\n%s", name, r.log)
		}
	}
	if got := b.registry.Counts(); got.Archives != 1 || got.Versions != 1 {
		t.Errorf("%+v", got)
	}
}

// Working directories from before the store have copies, which are removed.
func TestCopiesBecomeLinks(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	dir := b.opts.ProviderStore
	b.opts.ProviderStore = ""
	b.start()
	first := b.wants("old", "~> 1.0")
	lockFile := b.installed(first).LockFile
	if b.link("old", "1.2.3") != "" {
		t.Fatal("there is a store")
	}
	b.drain()
	b.server.setDrain(false)
	b.opts.ProviderStore = dir
	b.start()
	second := first.again(run.OperationPlan)
	second.spec.LockFile = lockFile
	b.installed(second)
	if !strings.HasPrefix(b.link("old", "1.2.3"), dir) {
		t.Errorf("%q\n%s", b.link("old", "1.2.3"), second.log)
	}
}

func TestAStackWhosePackageIsGoneRunsInitAgain(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	first := b.wants("x", "~> 1.0")
	lockFile := b.installed(first).LockFile
	second := first.again(run.OperationPlan)
	second.spec.LockFile = lockFile
	if result := b.installed(second); result.Providers != nil || b.registry.Counts().Versions != 1 {
		t.Errorf("%+v\n%s", result, second.log)
	}
	if err := os.RemoveAll(b.opts.ProviderStore); err != nil {
		t.Fatal(err)
	}
	if _, err := providers.Open(b.opts.ProviderStore); err != nil {
		t.Fatal(err)
	}
	third := second.again(run.OperationPlan)
	if result := b.installed(third); result.Providers == nil || result.Providers.Downloads != 1 {
		t.Errorf("%+v\n%s", result, third.log)
	}
}

func TestARunnerThatIsKilledWhileItDownloads(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	resume := b.registry.Halt()
	defer resume()
	killed := b.process()
	lost := b.server.submit(b.wants("lost", "~> 1.0"))
	deadline := time.Now().Add(time.Minute)
	for b.registry.Counts().Archives == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no download started")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	resume()
	b.start()
	if result := b.server.finished(lost); result.Outcome != run.OutcomeInterrupted {
		t.Errorf("%+v", result)
	}
	b.installed(b.wants("next", "~> 1.0"))
	list, err := providers.List(b.opts.ProviderStore)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	// A dead runner's download is removed once its tofu has ended.
	store, err := providers.Open(b.opts.ProviderStore)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if err := store.Clean(); err == nil {
			if rests, _ := filepath.Glob(filepath.Join(b.opts.ProviderStore, "staging", "fetch-*")); len(rests) == 0 {
				break
			}
		}
		if time.Now().After(deadline.Add(time.Minute)) {
			t.Fatal("an abandoned download is left")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAProviderThatAWorkingDirectoryLinksToStays(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	b.installed(b.wants("x", "~> 1.0"))
	links := workspace.ProviderLinks(b.opts.WorkRoot)
	if len(links) != 1 || links[b.link("x", "1.2.3")] != 1 {
		t.Errorf("%v", links)
	}
}

func TestAStoppedRunDoesNotWaitForItsDownload(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	resume := b.registry.Halt()
	var once sync.Once
	t.Cleanup(func() { once.Do(resume) })
	b.start()
	r := b.server.submit(b.wants("x", "~> 1.0"))
	deadline := time.Now().Add(time.Minute)
	for b.registry.Counts().Archives == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no download started")
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.server.mu.Lock()
	b.server.cancel = append(b.server.cancel, r.spec.ID)
	b.server.mu.Unlock()
	b.server.notify()
	if result := b.server.finished(r); result.Outcome != run.OutcomeCanceled {
		t.Errorf("%+v", result)
	}
}

// A request for newer providers includes newer modules.
func TestModulesFromElsewhereAreUpgraded(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.start()
	content := b.program(b.registry.Source(thing), "~> 1.0")["main.tf"]
	module := b.registry.ServeModule("net", map[string][]byte{"main.tf": []byte(content)})
	r := b.trusting(b.stack("upgraded", run.OperationPlan, program(fmt.Sprintf("module \"net\" {\n  source = %q\n}\n", module))))
	b.installed(r)
	b.registry.ServeModule("net", map[string][]byte{"main.tf": []byte(content + "# the second edition\n")})
	again := r.again(run.OperationPlan)
	again.spec.Upgrade, again.spec.LockFile = true, r.result.LockFile
	b.installed(again)
	text, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "upgraded", "src", ".terraform", "modules", "net", "main.tf"))
	if err != nil || !strings.Contains(string(text), "second edition") {
		t.Errorf("%v: %s\n%s", err, text, again.log)
	}
}

// The needs of an overridden module's replacement are unknown until init has fetched it.
func TestAModuleInThePlaceOfAnotherMayNeedMore(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3")
	b.registry.Publish("acme/other", "1.0.0", registrytest.Program("other", "1.0.0"))
	b.start()
	first := b.program(b.registry.Source(thing), "~> 1.0")["main.tf"]
	second := first + "module \"o\" {\n  source = \"./o\"\n}\n"
	inner := fmt.Sprintf("terraform {\n  required_providers {\n    other = { source = %q }\n  }\n}\nresource \"other_a\" \"b\" {}\n", b.registry.Source("acme/other"))
	calls := func(module string) *fakeRun {
		r := b.trusting(b.stack("replaced", run.OperationPlan, program(fmt.Sprintf("module \"net\" {\n  source = %q\n}\n", module))))
		r.spec.CLIConfig = []byte("provider_installation {\n  direct {}\n}\n")
		return r
	}
	before := calls(b.registry.ServeModule("one", map[string][]byte{"main.tf": []byte(first)}))
	lockFile := b.installed(before).LockFile
	after := calls(b.registry.ServeModule("two", map[string][]byte{"main.tf": []byte(second), "o/main.tf": []byte(inner)}))
	after.spec.LockFile = lockFile
	b.installed(after)
}

// Root modules of one source may share a lock file by links.
func TestALockFileMayBeALink(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3").publish("1.3.0")
	b.start()
	r := b.wants("linked", "~> 1.0")
	files := b.program(b.registry.Source(thing), "~> 1.0")
	files["locks/shared.hcl"] = fmt.Sprintf("provider %q {\n  version = \"1.2.3\"\n}\n", b.registry.Source(thing))
	r.artifact, r.spec.Artifact.Digest = linked(t, files, map[string]string{workspace.LockFileTF: "locks/shared.hcl"})
	r.spec.Artifact.Size = int64(len(r.artifact))
	if result := b.installed(r); b.link("linked", "1.2.3") == "" || result.LockFile != nil {
		t.Errorf("the source's locked version is not used:\n%s", r.log)
	}
}
