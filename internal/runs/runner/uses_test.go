// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Every run tells what it resolved, also one that needs no init.
func TestARunTellsTheModulesItResolved(t *testing.T) {
	b := newModuleBench(t)
	b.registry.PublishModule(netModule, "1.3.0", map[string][]byte{"main.tf": []byte(oneThing)})
	b.start()
	source := b.registry.ModuleSource(netModule)
	files := program(call("net", source, "~> 1.2.0") + call("own", "./own", ""))
	files["own/main.tf"] = call("deep", source, "1.3.0") + call("base", b.gitSource("v1"), "")
	r := b.trusting(b.stack("s", run.OperationPlan, files))
	r.spec.Upgrade = true
	want := []run.UsedModule{
		{Key: "net", Source: source, Version: "1.2.3", Constraint: "~> 1.2.0"},
		{Key: "own.base", Source: b.gitSource("v1")},
		{Key: "own.deep", Source: source, Version: "1.3.0", Constraint: "1.3.0"},
	}
	b.succeed(r)
	for i, m := range r.result.Uses.Modules {
		if !strings.HasPrefix(m.Digest, "h1:") {
			t.Errorf("%s has the digest %q", m.Key, m.Digest)
		}
		if i < len(want) {
			want[i].Digest = m.Digest
		}
	}
	// The digest is the one that Go's and OpenTofu's own tools compute of these files.
	digest, err := dirhash.Hash1([]string{"main.tf"}, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(oneThing)), nil })
	if err != nil {
		t.Fatal(err)
	}
	want[2].Digest = digest
	if diff := cmp.Diff(want, r.result.Uses.Modules); diff != "" {
		t.Error(diff)
	}
	again := b.trusting(b.stack("s", run.OperationPlan, files))
	again.artifact, again.spec.Artifact, again.spec.LockFile = r.artifact, r.spec.Artifact, r.result.LockFile
	b.succeed(again)
	if diff := cmp.Diff(want, again.result.Uses.Modules); diff != "" || again.result.Init != run.InitUnchanged {
		t.Error(again.result.Init, diff)
	}
}

// The tool obeys the directories in its list, whatever lies where it installs packages.
func TestADecoyOfAPackageHasNoDigest(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	source := b.registry.ModuleSource(netModule)
	two := oneThing + "resource \"terraform_data\" \"b\" {}\n"
	genuine := map[string]string{"main.tf": call("net", source, "1.2.3"), ".terraform/modules/net/main.tf": oneThing, ".terraform/modules/net/sub/main.tf": oneThing, ".terraform/modules/net/.git/x/main.tf": two, "evil/main.tf": two}
	for name, c := range map[string]struct {
		dir    string
		inner  string
		plans  int
		digest bool
	}{
		"genuine":                {dir: ".terraform/modules/net", plans: 1, digest: true},
		"below":                  {dir: ".terraform/modules/net/sub", plans: 1, digest: true},
		"another-directory":      {dir: "evil", plans: 2},
		"outside-by-dots":        {dir: ".terraform/modules/net/../../../evil", plans: 2},
		"metadata-of-git":        {dir: ".terraform/modules/net/.git/x", plans: 2},
		"a-local-module-in-it":   {dir: ".terraform/modules/net", inner: ".terraform/modules/net/sub", plans: 2, digest: true},
		"a-local-module-outside": {dir: ".terraform/modules/net", inner: "evil", plans: 3},
	} {
		files := maps.Clone(genuine)
		list := modules.List{Modules: []modules.Installed{{Dir: "."}, {Key: "net", Source: source, Version: "1.2.3", Dir: c.dir}}}
		if c.inner != "" {
			list.Modules = append(list.Modules, modules.Installed{Key: "net.sub", Source: "./sub", Dir: c.inner})
			files[".terraform/modules/net/main.tf"] += call("sub", "./sub", "")
		}
		files[workspace.ManifestTF] = string(execution.Encode(list))
		r := b.trusting(b.stack(name, run.OperationPlan, files))
		r.spec.Upgrade = false
		b.succeed(r)
		planned(t, r, c.plans)
		if used := r.result.Uses.Modules; len(used) != 1 || !used[0].Brought || (used[0].Digest != "") != c.digest {
			t.Errorf("%s: %+v", name, used)
		}
	}
}

func TestARunTellsTheProvidersItResolved(t *testing.T) {
	b := newStoreBench(t).publish("1.2.3").publish("1.3.0")
	b.start()
	r := b.wants("s", "~> 1.2.0")
	b.installed(r)
	want := []run.UsedProvider{{Source: b.registry.Source(thing), Version: "1.2.3", Constraint: "~> 1.2.0"}}
	if diff := cmp.Diff(want, r.result.Uses.Providers); diff != "" {
		t.Error(diff)
	}
}

// Only the working copy changes, wherever the module is called, and nothing else moves.
func TestAReplacedModuleIsPlannedInsteadOfWhatTheProgramCalls(t *testing.T) {
	b := newModuleBench(t)
	const other = "acme/other/test"
	two := oneThing + "resource \"terraform_data\" \"b\" {}\n"
	b.registry.PublishModule(netModule, "1.3.0-rc1", map[string][]byte{"main.tf": []byte(two), "sub/main.tf": []byte(two)})
	b.registry.PublishModule(other, "1.0.0", map[string][]byte{"main.tf": []byte(oneThing + call("net", b.registry.ModuleSource(netModule), "~> 1.0"))})
	b.registry.PublishModule(other, "1.1.0", map[string][]byte{"main.tf": []byte(two + two)})
	b.start()
	source := b.registry.ModuleSource(netModule)
	files := program(call("net", source, "~> 1.2.0") + call("sub", source+"//sub", "1.2.3") + call("own", "./own", "") + call("other", b.registry.ModuleSource(other), "~> 1.0"))
	files["own/main.tf"] = call("deep", source, "1.2.3")
	r := b.trusting(b.stack("s+try", run.OperationPlan, files))
	r.spec.Purpose = run.PurposeTry
	r.spec.Replace = &run.Replacement{Source: source, Version: "1.3.0-rc1"}
	r.spec.Resolved = map[string]string{"net": "1.2.3", "other": "1.0.0", "other.net": "1.2.3"}
	b.succeed(r)
	planned(t, r, 2*4+1)
	if r.result.Replaced != 4 {
		t.Errorf("replaced %d calls", r.result.Replaced)
	}
	versions := map[string]string{}
	for _, m := range r.result.Uses.Modules {
		versions[m.Key] = m.Version
	}
	if diff := cmp.Diff(map[string]string{"net": "1.3.0-rc1", "sub": "1.3.0-rc1", "own.deep": "1.3.0-rc1", "other": "1.0.0", "other.net": "1.3.0-rc1"}, versions); diff != "" {
		t.Error(diff)
	}
}
