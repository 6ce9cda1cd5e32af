// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func tree(names ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, name := range names {
		fsys[name] = &fstest.MapFile{Data: []byte("# nothing\n")}
	}
	return fsys
}

func TestEnvironmentsAreFoundByConvention(t *testing.T) {
	fsys := tree("environments/staging/main.tf", "environments/examples/small/main.tofu", "environments/staging/inner/main.tf", "environments/notes/README.md",
		"environments/values/terraform.tfvars", "tofu/environments/prod/main.tf.json", "deploy/tofu/environments/local/main.tf", "environments/.hidden/main.tf", "modules/shop/main.tf")
	got, err := Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := []Environment{
		{Name: "examples/small", Dir: "environments/examples/small"},
		{Name: "local", Dir: "deploy/tofu/environments/local"},
		{Name: "prod", Dir: "tofu/environments/prod"},
		{Name: "staging", Dir: "environments/staging"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTwoDirectoriesWithOneNameAreRefused(t *testing.T) {
	_, err := Read(tree("environments/staging/main.tf", "tofu/environments/staging/main.tf"))
	if err == nil || !strings.Contains(err.Error(), "both named \"staging\"") {
		t.Error(err)
	}
}

func TestTheFile(t *testing.T) {
	for sentence, test := range map[string]struct {
		text, says string
		want       []Environment
	}{
		"an empty file changes nothing":             {text: "", want: []Environment{{Name: "staging", Dir: "environments/staging"}}},
		"it completes a conventional environment":   {text: "environments: {staging: {target: eks, varFiles: [common.tfvars]}}", want: []Environment{{Name: "staging", Dir: "environments/staging", Target: "eks", VarFiles: []string{"common.tfvars"}}}},
		"it renames one, and gives it a stack":      {text: "environments: {eu: {path: environments/staging, stack: shop/eu, workspace: w}}", want: []Environment{{Name: "eu", Dir: "environments/staging", Stack: "shop/eu", Workspace: "w"}}},
		"it names other directories":                {text: "directories: [live]\nenvironments: {staging: }", want: []Environment{{Name: "one", Dir: "live/one"}, {Name: "staging", Dir: "environments/staging"}}},
		"a misspelt key":                            {text: "environment: {}", says: "yuba.yaml:1: it cannot have the key \"environment\"; did you mean environments?"},
		"a misspelt key of an environment":          {text: "environments:\n  staging:\n    varfiles: []", says: "yuba.yaml:3: the environment staging cannot have the key \"varfiles\"; did you mean varFiles?"},
		"a path that leaves the library":            {text: "environments: {staging: {path: ../elsewhere}}", says: "leaves the library"},
		"values that leave the library":             {text: "environments: {staging: {varFiles: [/etc/passwd]}}", says: "leaves the library"},
		"a writable directory outside":              {text: "environments: {staging: {writable: [../../home]}}", says: "leaves the library"},
		"git's settings, to write":                  {text: "environments: {staging: {writable: [.git/hooks]}}", says: "is in .git"},
		"git's settings, in other letters":          {text: "environments: {staging: {writable: [modules/x/../.GIT]}}", says: "is in .git"},
		"git's settings, as a module":               {text: "environments: {staging: {path: .git}}", says: "is in .git"},
		"the whole library, to write":               {text: "environments: {staging: {writable: [./generated/..]}}", says: "is the root of the library"},
		"a directory outside":                       {text: "directories: [../..]", says: "leaves the library"},
		"credentials, which the file may not grant": {text: "environments: {staging: {readable: [~/.ssh]}}", says: "cannot have the key \"readable\""},
		"an environment without a module":           {text: "environments: {prod: {}}", says: "there is no root module in \"environments/prod\""},
		"a name with a way out":                     {text: "environments: {../x: {}}", says: "is not valid"},
		"a list":                                    {text: "- a", says: "must be a mapping"},
		"two documents":                             {text: "environments: {}\n---\n{}", says: "more than one document"},
		"no YAML":                                   {text: "a: [", says: "yuba.yaml: "},
		"a type that does not fit":                  {text: "environments: {staging: {varFiles: {}}}", says: "cannot unmarshal"},
	} {
		t.Run(sentence, func(t *testing.T) {
			fsys := tree("environments/staging/main.tf", "live/one/main.tf")
			fsys[FileName] = &fstest.MapFile{Data: []byte(test.text)}
			got, err := Read(fsys)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %q", err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzTheFile(f *testing.F) {
	f.Add("environments: {staging: {target: eks}}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		fsys := tree("environments/staging/main.tf")
		fsys[FileName] = &fstest.MapFile{Data: []byte(text)}
		list, err := Read(fsys)
		for _, e := range list {
			if err == nil && !filepath.IsLocal(e.Dir) {
				t.Errorf("%q leaves the library", e.Dir)
			}
		}
	})
}

func write(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheRootIsFoundUpwards(t *testing.T) {
	for sentence, test := range map[string]struct {
		files    []string
		in, want string
	}{
		"the nearest convention":        {[]string{"a/environments/x/main.tf"}, "a/environments/x", "a"},
		"yuba.yaml wins":                {[]string{"yuba.yaml", "tofu/environments/x/main.tf"}, "tofu/environments/x", "."},
		"the outermost in a repository": {[]string{".git/HEAD", "tofu/environments/x/main.tf"}, "tofu/environments/x", "."},
		"nothing above a repository":    {[]string{"environments/x/main.tf", "repo/.git/HEAD", "repo/a/main.tf"}, "repo/a", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, test.files...)
			c, err := Find(filepath.Join(dir, test.in))
			if test.want == "" {
				var none *NoLibraryError
				if !errors.As(err, &none) {
					t.Errorf("got %+v, %v", c, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Root != filepath.Join(dir, test.want) {
				t.Errorf("got %s", c.Root)
			}
		})
	}
}

func TestAnEnvironmentByNameOrDirectory(t *testing.T) {
	c := &Catalog{Root: "/repo", Environments: []Environment{{Name: "staging", Dir: "environments/staging"}}}
	for _, test := range []struct{ name, cwd string }{{"staging", "/"}, {"environments/staging", "/"}, {".", "/repo/environments/staging"}, {"./staging/", "/repo/environments"}} {
		if e, err := c.Named(test.name, test.cwd); err != nil || e.Name != "staging" {
			t.Errorf("%+v: %v %v", test, e, err)
		}
	}
	_, err := c.Named("stagin", "/")
	if err == nil || !strings.Contains(err.Error(), "did you mean staging?") {
		t.Error(err)
	}
}
