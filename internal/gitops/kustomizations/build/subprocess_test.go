// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

var builtPrograms struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtPrograms.dir != "" {
		os.RemoveAll(builtPrograms.dir)
	}
	os.Exit(code)
}

// programs builds the separate programs.
func programs(t testing.TB) subprocess.Finder {
	t.Helper()
	builtPrograms.Do(func() {
		if builtPrograms.dir, builtPrograms.err = os.MkdirTemp("", "yuba-programs-"); builtPrograms.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", builtPrograms.dir, "../../../../cmd/yuba-kustomize", "../../../../cmd/yuba-sandbox", "../../../../cmd/yuba-sops")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			builtPrograms.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if builtPrograms.err != nil {
		t.Fatal(builtPrograms.err)
	}
	return func(name string) (string, error) { return filepath.Join(builtPrograms.dir, name), nil }
}

// doubling is a tree whose replacements double a text a number of times.
func doubling(times int) map[string]string {
	text := "resources: [c.yaml]\nreplacements:\n"
	for range times {
		text += "- source: {kind: ConfigMap, name: settings, fieldPath: data.colour}\n" +
			"  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.colour], options: {delimiter: '/', index: -1}}]\n"
	}
	return map[string]string{"kustomization.yaml": text, "c.yaml": configMap}
}

func TestATreeThatGrowsEndsItsOwnProcessOnly(t *testing.T) {
	bomb := Input{Object: spec(nil), Dir: files(t, doubling(40)), Programs: programs(t)}
	done := make(chan error, 1)
	go func() {
		_, err := Build(t.Context(), bomb)
		done <- err
	}()
	// Others can build meanwhile: one in this process, one in another.
	for name, in := range map[string]Input{
		"here":  {Object: spec(func(s *kustomizev1.KustomizationSpec) { s.TargetNamespace = "prod" }), Dir: files(t, map[string]string{"a.yaml": web}), Programs: programs(t)},
		"apart": {Object: spec(nil), Dir: files(t, doubling(3)), Programs: programs(t)},
	} {
		in.Object.Namespace = "other"
		if _, err := Build(t.Context(), in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := <-done
	var limit *LimitError
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "grows while it is built, to more than 1024 MiB of memory") {
		t.Errorf("error: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := Input{Object: spec(nil), Dir: files(t, doubling(3)), Programs: programs(t)}
	if _, err := Build(soon, again); err != nil {
		t.Errorf("the namespace's next build failed: %v", err)
	}
}

func TestReplacementsInAProcessOfTheirOwnAreThoseOfFlux(t *testing.T) {
	tree := doubling(3)
	result, err := Build(t.Context(), Input{Object: spec(nil), Dir: files(t, tree), Programs: programs(t)})
	if err != nil {
		t.Fatal(err)
	}
	here, err := Build(t.Context(), Input{Object: spec(nil), Dir: files(t, tree)})
	if err != nil || here.Digest != result.Digest {
		t.Errorf("here %v (%v), apart %v", here, err, result)
	}
	if got, _ := result.Objects[0].Object["data"].(map[string]any); got["colour"] != strings.Repeat("blue/", 7)+"blue" {
		t.Errorf("data: %v", got)
	}
}

func TestWhatIsWrongIsSaidAsInThisProcess(t *testing.T) {
	for name, tree := range map[string]map[string]string{
		"an object twice":     {"kustomization.yaml": "resources: [a.yaml, b.yaml]\nnamePrefix: a-\n", "a.yaml": configMap, "b.yaml": configMap},
		"a key twice":         {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: a-\n", "a.yaml": configMap + "data: {}\n"},
		"a missing target":    {"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}]\n", "a.yaml": configMap, "p.yaml": web},
		"what is no YAML":     {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: a-\n", "a.yaml": "a: [\n"},
		"a missing source":    {"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, name: x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]\n", "a.yaml": configMap},
		"an unreadable patch": {"kustomization.yaml": "resources: [a.yaml]\npatches: [{patch: 'nonsense'}]\n", "a.yaml": configMap},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Object: spec(nil), Dir: files(t, tree)}
			_, here := Build(t.Context(), in)
			in.Programs, in.apart = programs(t), true
			_, apart := Build(t.Context(), in)
			if here == nil || apart == nil || here.Error() != apart.Error() {
				t.Errorf("here:  %v\napart: %v", here, apart)
			}
		})
	}
}

func TestAProcessEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := Input{Object: spec(nil), Dir: files(t, doubling(40)), Programs: programs(t)}
	started := make(chan struct{})
	find := in.Programs
	in.Programs = func(program string) (string, error) {
		if program == "yuba-sandbox" {
			close(started)
		}
		return find(program)
	}
	go func() {
		<-started
		cancel()
	}()
	if _, err := Build(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

func TestProgramsThatAreMissingAreNamed(t *testing.T) {
	in := Input{Object: spec(nil), Dir: files(t, doubling(1)), Programs: func(string) (string, error) {
		return "", errors.New("find yuba-kustomize: it is nowhere")
	}}
	_, err := Build(t.Context(), in)
	if err == nil || !strings.Contains(err.Error(), "build directory . in a separate process, because it could grow: find yuba-kustomize") {
		t.Errorf("error: %v", err)
	}
}

func TestWhatMayGrow(t *testing.T) {
	resources := "resources: [c.yaml]\n"
	many := map[string]string{"kustomization.yaml": "resources: [c.yaml]\ncommonAnnotations: {a: " + strings.Repeat("x", 100_000) + "}\n", "c.yaml": strings.Repeat(configMap+"---\n", 1000)}
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"a namespace":                     {map[string]string{"kustomization.yaml": resources + "namespace: a\n", "c.yaml": configMap}, false},
		"a patch":                         {map[string]string{"kustomization.yaml": resources + "patches: [{patch: '[{op: remove, path: /data}]', target: {kind: ConfigMap}}]\n", "c.yaml": configMap}, false},
		"a generator":                     {map[string]string{"kustomization.yaml": resources + "configMapGenerator: [{name: a, files: [c.yaml]}]\n", "c.yaml": configMap}, false},
		"a patch that copies":             {map[string]string{"kustomization.yaml": resources + "patches: [{patch: '[{op: copy, from: /data, path: /x}]', target: {kind: ConfigMap}}]\n", "c.yaml": configMap}, true},
		"a patch in a file that copies":   {map[string]string{"kustomization.yaml": resources + "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n", "p.yaml": "- op: \"c\\u006fpy\"\n  from: /data\n  path: /x\n", "c.yaml": configMap}, true},
		"a kustomization with aliases":    {map[string]string{"kustomization.yaml": resources + "commonAnnotations: {a: &a b, c: *a}\n", "c.yaml": configMap}, true},
		"objects with aliases":            {map[string]string{"kustomization.yaml": resources + "namespace: a\n", "c.yaml": configMap + "x: &a b\ny: *a\n"}, true},
		"replacements":                    {doubling(1), true},
		"replacements below":              {map[string]string{"kustomization.yaml": "resources: [below]\n", "below/kustomization.yaml": doubling(1)["kustomization.yaml"], "below/c.yaml": configMap}, true},
		"vars":                            {map[string]string{"kustomization.yaml": resources + "vars: [{name: A, objref: {kind: ConfigMap, name: settings, apiVersion: v1}}]\n", "c.yaml": configMap}, true},
		"a transformer":                   {map[string]string{"kustomization.yaml": resources + "transformers: [t.yaml]\n", "t.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\nprefix: a-\n", "c.yaml": configMap}, true},
		"a long text for every object":    {many, true},
		"more than is compared with each": {map[string]string{"kustomization.yaml": resources + "namespace: a\n", "c.yaml": strings.Repeat(configMap+"---\n", 20_000)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := openTree(files(t, c.files), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			l := &look{t: root, plain: true}
			file, kus, err := root.topmost()
			if err != nil {
				t.Fatal(err)
			}
			text, err := root.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			l.rule(text)
			if err := l.kustomization(root.dir, kus, file, nil); err != nil {
				t.Fatal(err)
			}
			if got := l.mayGrow(); got != c.want {
				t.Errorf("mayGrow = %v, want %v", got, c.want)
			}
		})
	}
}
