// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func TestTheNewestToolThatFitsIsTaken(t *testing.T) {
	dir := t.TempDir()
	tofutest.Fake(t, dir, map[string]string{"bin/tofu": "1.11.0", "bin/terraform": "1.13.0", "tools/tofu-1.9.1": "1.9.1", "tools/tofu_1.9.3": "1.9.3", "tools/tofu-broken": "",
		"tools/tofu/1.12.6/tofu": "1.12.6", "tools/terraform_1.5.7": "1.5.7", "tools/terraform-1.14.0/terraform": "1.14.0", "tools/tofu-1.4.0": "1.4.0", "path/terraform": "1.6.0"})
	box := &Box{standard: filepath.Join(dir, "bin/tofu"), dir: filepath.Join(dir, "tools"), search: filepath.Join(dir, "path"), known: map[string]Tool{}}
	for sentence, test := range map[string]struct {
		want    run.Tool
		path    string
		problem string
	}{
		"the standard one when nothing is asked":  {run.Tool{}, "bin/tofu", ""},
		"the standard one by its name":            {run.Tool{Name: "tofu"}, "bin/tofu", ""},
		"the newest of all":                       {run.Tool{Version: ">= 1.0"}, "tools/tofu/1.12.6/tofu", ""},
		"the newest of a line":                    {run.Tool{Version: "~> 1.9.0"}, "tools/tofu_1.9.3", ""},
		"an exact one":                            {run.Tool{Name: "tofu", Version: "1.9.1"}, "tools/tofu-1.9.1", ""},
		"the standard one when only that fits":    {run.Tool{Version: "~1.11.0"}, "bin/tofu", ""},
		"another tool: the newest":                {run.Tool{Name: "terraform"}, "tools/terraform-1.14.0/terraform", ""},
		"another tool beside the standard one":    {run.Tool{Name: "terraform", Version: "1.13.0"}, "bin/terraform", ""},
		"another tool on the path":                {run.Tool{Name: "terraform", Version: "1.6.0"}, "path/terraform", ""},
		"one that is not there: what is":          {run.Tool{Version: "~> 1.10.0"}, "", "the stack requires tofu ~> 1.10.0, but only these are installed:\n  tofu 1.11.0 ("},
		"one that is not there: where to put it":  {run.Tool{Version: "~> 1.10.0"}, "", "tools, named tofu-VERSION"},
		"one that is too old for Yuba":            {run.Tool{Version: "1.4.0"}, "", "too old"},
		"a constraint that is none":               {run.Tool{Version: "newest"}, "", `read the version "newest" that spec.tool.version wants`},
		"a tool that nobody knows":                {run.Tool{Name: "pulumi"}, "", "only tofu and terraform are known"},
		"a tool whose name would lead elsewhere.": {run.Tool{Name: "../tofu"}, "", "only tofu and terraform are known"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := box.Find(t.Context(), test.want)
			if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Fatalf("got %v, want %q", err, test.problem)
			}
			if want := filepath.Join(dir, test.path); err == nil && got.Path != want {
				t.Errorf("got %s, want %s", got.Path, want)
			}
		})
	}
}

func TestToolsAreListedWithWhatIsWrongWithThem(t *testing.T) {
	dir := t.TempDir()
	tofutest.Fake(t, dir, map[string]string{"bin/tofu": "1.11.0", "tools/tofu-1.4.0": "1.4.0", "tools/tofu-broken": "", "tools/terraform_1.5.7": "1.5.7"})
	if err := os.Symlink(filepath.Join(dir, "bin/tofu"), filepath.Join(dir, "tools/tofu-1.11")); err != nil {
		t.Fatal(err)
	}
	box := &Box{standard: filepath.Join(dir, "bin/tofu"), dir: filepath.Join(dir, "tools"), search: dir, known: map[string]Tool{}}
	var got []string
	for _, tool := range box.List(t.Context()) {
		line := fmt.Sprintf("%s %s %v", filepath.Base(tool.Path), tool.Version, tool.Default)
		if tool.Problem != "" {
			line += " !"
		}
		got = append(got, line)
	}
	want := []string{"tofu 1.11.0 true", "tofu-1.4.0 1.4.0 false !", "tofu-broken  false !", "terraform_1.5.7 1.5.7 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestToolThatIsNotInstalledIsSaid(t *testing.T) {
	box := &Box{standard: "/nowhere/tofu", search: t.TempDir(), known: map[string]Tool{}}
	if _, err := box.Find(t.Context(), run.Tool{Name: "terraform"}); err == nil || !strings.Contains(err.Error(), "the stack requires terraform, but no tool is installed") {
		t.Errorf("%v", err)
	}
}
