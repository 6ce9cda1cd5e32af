// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

const (
	netModule = "acme/net/test"
	oneThing  = "resource \"terraform_data\" \"a\" {}\n"
)

// moduleBench has a module registry and a git repository with modules.
type moduleBench struct {
	*storeBench
	git        *gittest.Server
	repository *gittest.Repository
	commit     string
}

func newModuleBench(t *testing.T) *moduleBench {
	b := &moduleBench{storeBench: newStoreBench(t), git: gittest.New(t)}
	b.repository = b.git.Repository(t, "modules")
	b.commit = b.repository.Commit(t, "first", gittest.Files{
		"base/main.tf": oneThing + "module \"inner\" {\n  source = \"../inner\"\n}\n", "inner/main.tf": oneThing + "output \"edition\" {\n  value = \"first\"\n}\n"})
	b.repository.Tag(t, "v1")
	b.registry.PublishModule(netModule, "1.2.3", map[string][]byte{"main.tf": []byte(oneThing), "sub/main.tf": []byte(oneThing)})
	return b
}

func (b *moduleBench) gitSource(ref string) string {
	return "git::" + b.repository.URL() + "//base?ref=" + ref
}

func call(name, source, version string) string {
	text := fmt.Sprintf("module %q {\n  source = %q\n", name, source)
	if version != "" {
		text += fmt.Sprintf("  version = %q\n", version)
	}
	return text + "}\n"
}

// calls makes a run, as after a commit, of a program with these calls.
func (b *moduleBench) calls(name string, calls ...string) *fakeRun {
	r := b.trusting(b.stack(name, run.OperationPlan, program(strings.Join(calls, ""))))
	r.spec.Upgrade = true
	return r
}

func (b *moduleBench) both(name string) *fakeRun {
	return b.calls(name, call("net", b.registry.ModuleSource(netModule), "1.2.3"), call("base", b.gitSource(b.commit), ""))
}

// wants checks the number of module requests since the last call.
func (b *moduleBench) wants(when string, versions, archives, clones int) {
	b.t.Helper()
	got := b.registry.Counts()
	git := b.git.Counts("modules")
	if got.ModuleVersions != versions || got.Modules != archives || git.Clones != clones || clones == 0 && git.Lookups > 0 {
		b.t.Errorf("%s: asked %d times for versions, %d for archives, %+v of git; want %d, %d and %d clones", when, got.ModuleVersions, got.Modules, git, versions, archives, clones)
	}
}

func logged(t *testing.T, r *fakeRun, want string) {
	t.Helper()
	if !strings.Contains(string(r.log), want) {
		t.Errorf("%q is not in the log of %s:\n%s", want, r.spec.Stack.Name, r.log)
	}
}

func planned(t *testing.T, r *fakeRun, add int) {
	t.Helper()
	if r.result.Plan == nil || r.result.Plan.Counts.Add != add {
		t.Errorf("%s: %+v\n%s", r.spec.Stack.Name, r.result.Plan, r.log)
	}
}

func TestModulesAreDownloadedOnce(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	var all []*fakeRun
	for i := range 5 {
		all = append(all, b.server.submit(b.both(fmt.Sprint("s", i))))
	}
	for _, r := range all {
		if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
			t.Fatalf("%+v\n%s", result, r.log)
		}
		planned(t, r, 3)
		logged(t, r, "Modules: ")
	}
	b.wants("at first", 1, 1, 1)

	b.succeed(b.both("s5"))
	next := b.both("s0")
	other := b.stack("s0", run.OperationPlan, program("# changed\n"+call("net", b.registry.ModuleSource(netModule), "1.2.3")+call("base", b.gitSource(b.commit), "")))
	next.artifact, next.spec.Artifact = other.artifact, other.spec.Artifact
	b.succeed(next)
	planned(t, next, 3)
	logged(t, next, "Modules: 2 from the store")
	b.wants("after a commit", 1, 1, 1)
}

// The store writes the same as the tool itself.
func TestTheListOfModulesIsAsTheToolWritesIt(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	text := call("net", b.registry.ModuleSource(netModule)+"//sub", "~> 1.0") + call("base", b.gitSource(b.commit), "") + call("own", "./here/../here/", "")
	files := map[string]string{"main.tf": text, "here/main.tf": call("deep", "./deep", ""), "here/deep/main.tf": oneThing}
	stored := b.trusting(b.stack("stored", run.OperationPlan, files))
	stored.spec.Upgrade = true
	b.succeed(stored)
	logged(t, stored, "Modules: 2 downloaded")
	plain := b.trusting(b.stack("plain", run.OperationPlan, files))
	plain.spec.Env = append(plain.spec.Env, run.EnvVar{Name: "XDG_CONFIG_HOME", Value: "/nowhere"})
	b.succeed(plain)
	if strings.Contains(string(plain.log), "Modules: ") {
		t.Fatalf("from the store:\n%s", plain.log)
	}
	var lists [2]map[string]modules.Installed
	for i, name := range []string{"stored", "plain"} {
		lists[i] = b.listed(name)
	}
	if len(lists[0]) != 6 || len(lists[1]) != len(lists[0]) {
		t.Errorf("%+v", lists)
	}
	for key, want := range lists[1] {
		if lists[0][key] != want {
			t.Errorf("%q: %+v, want %+v", key, lists[0][key], want)
		}
	}
}

func (b *moduleBench) at(stack string, names ...string) string {
	return filepath.Join(append([]string{b.opts.WorkRoot, "team", stack, "src", ".terraform", "modules"}, names...)...)
}

func (b *moduleBench) listed(stack string) map[string]modules.Installed {
	b.t.Helper()
	text, err := os.ReadFile(b.at(stack, "modules.json"))
	var list modules.List
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]modules.Installed{}
	for _, m := range list.Modules {
		all[m.Key] = m
	}
	return all
}

func TestModulesOfOneCredentialAreNotThoseOfAnother(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	b.succeed(b.both("plain"))
	b.wants("without", 1, 1, 1)
	token := "TF_TOKEN_" + strings.NewReplacer(".", "_", ":", "_").Replace("example.com")
	for i, change := range []func(*fakeRun){
		func(r *fakeRun) { r.spec.Env = append(r.spec.Env, run.EnvVar{Name: token, Value: "one", Secret: true}) },
		func(r *fakeRun) { r.spec.Env = append(r.spec.Env, run.EnvVar{Name: token, Value: "two", Secret: true}) },
		func(r *fakeRun) { r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "GIT_AUTHOR_NAME", Value: "x"}) },
		func(r *fakeRun) {
			r.spec.CLIConfig = []byte("credentials \"example.com\" {\n  token = \"three\"\n}\n")
		},
		func(r *fakeRun) {
			r.spec.Files = []run.File{{Location: run.FileInHome, Path: ".netrc", Content: []byte("machine example.com login a password b\n")}}
		},
	} {
		for _, name := range []string{"a", "b"} { // the second has it from the first
			r := b.both(fmt.Sprint(name, i))
			change(r)
			b.succeed(r)
			b.wants(fmt.Sprint(name, i), 2+i, 2+i, 2+i)
		}
	}
	staged, err := os.ReadDir(filepath.Join(b.opts.Dir, "modules", "staging"))
	if err != nil || len(staged) > 0 {
		t.Errorf("left: %v, %v", staged, err)
	}
}

// The store must not give access to private modules.
func TestAPrivateModuleStaysWithItsCredentials(t *testing.T) {
	b := newModuleBench(t)
	b.registry.RequireToken("t0ken")
	b.start()
	with := b.calls("with", call("net", b.registry.ModuleSource(netModule), "1.2.3"))
	with.spec.CLIConfig = fmt.Appendf(nil, "credentials %q {\n  token = \"t0ken\"\n}\n", b.registry.Host())
	b.succeed(with)
	without := b.calls("without", call("net", b.registry.ModuleSource(netModule), "1.2.3"))
	if result := b.do(without); result.FailedStep != run.StepInit {
		t.Errorf("%+v\n%s", result, without.log)
	}
}

// All stacks share one lookup of a branch or tag; a stack that has looked before does so again.
func TestTagsAreAskedAgain(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	first := b.succeed(b.calls("first", call("base", b.gitSource("v1"), "")))
	b.succeed(b.calls("second", call("base", b.gitSource("v1"), "")))
	b.wants("a tag", 0, 0, 1)
	b.repository.Commit(t, "second", gittest.Files{"inner/main.tf": oneThing + oneThing[:len(oneThing)-len("\"a\" {}\n")] + "\"b\" {}\n"})
	b.repository.Tag(t, "v1")
	moved := b.calls("first", call("base", b.gitSource("v1"), ""))
	other := b.stack("first", run.OperationPlan, program("# changed\n"+call("base", b.gitSource("v1"), "")))
	moved.artifact, moved.spec.Artifact = other.artifact, other.spec.Artifact
	b.succeed(moved)
	planned(t, moved, 3)
	b.wants("a stack that asks again", 0, 0, 2)
	third := b.calls("third", call("base", b.gitSource("v1"), ""))
	b.succeed(third)
	planned(t, third, 3)
	b.wants("another stack", 0, 0, 2)
	if first.Plan.Counts.Add != 2 {
		t.Errorf("%+v", first.Plan)
	}
}

// A branch that has not moved costs one request, also with each commit to the stack's source.
func TestABranchThatHasNotMovedIsNotClonedAgain(t *testing.T) {
	for ref, name := range map[string]string{"main": "a branch", "v1": "a tag", "": "the default branch"} {
		t.Run(name, func(t *testing.T) {
			b := newModuleBench(t)
			if ref == "v1" {
				b.repository.Git(t, "tag", "-f", "-a", "-m", "with a message", "v1")
				b.repository.Push(t)
				b.repository.Git(t, "push", "-f", "origin", "v1")
			}
			b.start()
			source := strings.TrimSuffix(b.gitSource(ref), "?ref=")
			b.succeed(b.calls("s", call("base", source, "")))
			first := b.git.Counts("modules")
			for i := range 3 {
				other := b.stack("s", run.OperationPlan, program(fmt.Sprintf("# %d\n", i)+call("base", source, "")))
				next := b.calls("s", call("base", source, ""))
				next.artifact, next.spec.Artifact = other.artifact, other.spec.Artifact
				b.succeed(next)
				planned(t, next, 2)
				logged(t, next, "Modules: 1 from the store")
			}
			got := b.git.Counts("modules")
			if got.Clones != first.Clones || got.Fetches != first.Fetches || got.Lookups != first.Lookups+3 {
				t.Errorf("at first %+v, after three commits %+v", first, got)
			}
			b.repository.Commit(t, "more", gittest.Files{"base/more.tf": strings.ReplaceAll(oneThing, `"a"`, `"more"`)})
			if ref == "v1" {
				b.repository.Tag(t, "v1")
			}
			b.succeed(b.calls("s", call("base", source, "")))
			if now := b.git.Counts("modules"); now.Clones != first.Clones+1 {
				t.Errorf("after it moved: %+v", now)
			}
		})
	}
}

func TestWhichCommitARepositoryNames(t *testing.T) {
	const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for source, c := range map[string]struct{ answer, url, commit string }{
		"git::https://example.com/a.git?ref=main":            {one + "\trefs/heads/main\n", "https://example.com/a.git", one},
		"git::https://example.com/a.git//sub/dir?ref=v1":     {one + "\trefs/tags/v1\n" + two + "\trefs/tags/v1^{}\n", "https://example.com/a.git", two},
		"git::ssh://git@example.com/a.git//sub":              {one + "\tHEAD\n" + two + "\trefs/heads/HEAD\n", "ssh://git@example.com/a.git", one},
		"git::https://example.com/a.git?ref=both":            {one + "\trefs/heads/both\n" + two + "\trefs/tags/both\n", "https://example.com/a.git", ""},
		"git::https://example.com/a.git?ref=x":               {one + "\trefs/heads/refs/heads/x\n", "https://example.com/a.git", ""},
		"git::https://example.com/a.git?depth=1&ref=x":       {one + "\trefs/heads/x\n", "https://example.com/a.git", one},
		"git::https://example.com/a.git?ref=x&sshkey=secret": {},
		"git::https://example.com/a.git?ref=x&ref=y":         {},
		"git::ext::sh -c evil?ref=x":                         {},
		"git::file:///etc?ref=x":                             {},
		"git::ssh:///-oProxyCommand=evil":                    {},
		"https://example.com/a.zip":                          {},
	} {
		at, err := modules.ParseGitSource(source)
		if (err != nil) != (c.url == "") || at.URL != c.url {
			t.Errorf("%s: %+v, %v", source, at, err)
			continue
		}
		if commit, _ := at.Commit([]byte(c.answer)); err == nil && commit != c.commit {
			t.Errorf("%s: %s, want %s", source, commit, c.commit)
		}
	}
}

func TestADamagedModuleIsFetchedAgain(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	b.succeed(b.calls("first", call("net", b.registry.ModuleSource(netModule), "1.2.3")))
	b.wants("at first", 1, 1, 0)
	damaged := 0
	err := filepath.WalkDir(filepath.Join(b.opts.Dir, "modules"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "main.tf" {
			return err
		}
		damaged++
		return os.WriteFile(path, []byte(strings.Repeat("#", len(oneThing))), 0o600)
	})
	if err != nil || damaged == 0 {
		t.Fatalf("%d files: %v", damaged, err)
	}
	second := b.calls("second", call("net", b.registry.ModuleSource(netModule), "1.2.3"))
	b.succeed(second)
	planned(t, second, 1)
	b.wants("after the damage", 2, 2, 0)
	b.succeed(b.calls("third", call("net", b.registry.ModuleSource(netModule), "1.2.3")))
	b.wants("afterwards", 2, 2, 0)
}

// Init gets everything that the store cannot get or does not understand.
func TestModulesThatAreLeftToInit(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	fixed := call("net", b.registry.ModuleSource(netModule), "1.2.3")
	computed := "variable \"ref\" { default = \"v1\" }\nmodule \"base\" {\n  source = \"git::" + b.repository.URL() + "//base?ref=${var.ref}\"\n}\n"
	r := b.calls("computed", fixed, computed)
	b.succeed(r)
	planned(t, r, 3)
	nothing := b.calls("nothing", fixed, call("gone", b.gitSource("no-such-tag"), ""))
	if result := b.do(nothing); result.FailedStep != run.StepInit || !strings.Contains(result.Error, "no-such-tag") {
		t.Errorf("%+v", result)
	}
	hostile := b.trusting(b.stack("hostile", run.OperationPlan, map[string]string{"main.tf": fixed + call("own", "./own", ""), "own/main.tf": call("out", "../../../x", "")}))
	hostile.spec.Upgrade = true
	if result := b.do(hostile); result.FailedStep != run.StepInit {
		t.Errorf("%+v\n%s", result, hostile.log)
	}
}

// A tree may contain something else under a module's name.
func TestASourceCannotPutModulesInTheStore(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	source := b.registry.ModuleSource(netModule)
	list := modules.List{Modules: []modules.Installed{{Dir: "."}, {Key: "net", Source: source, Version: "1.2.3", Dir: ".terraform/modules/net"}}}
	evil := b.trusting(b.stack("evil", run.OperationPlan, map[string]string{"main.tf": call("net", source, "1.2.3"),
		workspace.ManifestTF: string(execution.Encode(list)), workspace.ModulesTF + "/net/main.tf": oneThing + "resource \"terraform_data\" \"evil\" {}\n"}))
	b.do(evil)
	good := b.calls("good", call("net", source, "1.2.3"))
	b.succeed(good)
	planned(t, good, 1)
}

func TestStacksThatBeginAtOnceWaitForOneDownload(t *testing.T) {
	b := newModuleBench(t)
	b.opts.Capacity = 8
	b.start()
	var all []*fakeRun
	for i := range 8 {
		all = append(all, b.server.submit(b.calls(fmt.Sprint("s", i), call("base", b.gitSource("main"), ""))))
	}
	for _, r := range all {
		if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
			t.Fatalf("%+v\n%s", result, r.log)
		}
	}
	b.wants("eight at once", 0, 0, 1)
	record, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "s0", workspace.RecordName))
	var known workspace.Record
	if err != nil || json.Unmarshal(record, &known) != nil || time.Since(known.ModulesAsked) > time.Hour {
		t.Errorf("%v: %s", err, record)
	}
}

// If the store's result is wrong, init decides.
func TestInitMayFindFaultWithWhatTheStoreHas(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	b.succeed(b.calls("first", call("net", b.registry.ModuleSource(netModule), "1.2.3")))
	answers, err := filepath.Glob(filepath.Join(b.opts.Dir, "modules", "*", "answers", "*"))
	if err != nil || len(answers) != 1 {
		t.Fatalf("%v, %v", answers, err)
	}
	text, err := os.ReadFile(answers[0])
	if err == nil {
		err = os.WriteFile(answers[0], []byte(strings.ReplaceAll(string(text), netModule, "acme/other/test")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	second := b.calls("second", call("net", b.registry.ModuleSource(netModule), "1.2.3"))
	b.succeed(second)
	planned(t, second, 1)
	logged(t, second, "Init: again, without the module store")
}

func TestAStoppedRunDoesNotWaitForItsModules(t *testing.T) {
	b := newModuleBench(t)
	asked, release := make(chan struct{}, 10), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	b.start()
	r := b.server.submit(b.calls("x", call("slow", slow.URL+"/x.zip", "")))
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("no download started")
	}
	b.server.mu.Lock()
	b.server.cancel = append(b.server.cancel, r.spec.ID)
	b.server.mu.Unlock()
	b.server.notify()
	if result := b.server.finished(r); result.Outcome != run.OutcomeCanceled || len(processes(result)) > 0 {
		t.Errorf("%+v", result)
	}
}
