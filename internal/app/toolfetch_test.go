// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

func TestAServerWithoutTofuFetchesOne(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "yuba-sandbox", "")
	program(t, dir, "yuba-runner", "")
	t.Setenv("PATH", dir+":/bin")
	tools := filepath.Join(dir, "tools")
	releases := releasetest.New(t)
	releases.Publish(opentofu.Pinned, []byte("#!/bin/sh\necho '{\"terraform_version\": \""+opentofu.Pinned+"\"}'\n"))
	var news bytes.Buffer
	o := &Common{FetchTofu: true, News: &news, ToolSource: opentofu.Source{URL: releases.URL, KeyFile: releases.KeyFile}}
	for range 2 {
		got, err := findTool(t.Context(), o, tools)
		if err != nil {
			t.Fatal(err)
		}
		if got.path != opentofu.Path(tools, opentofu.Pinned) || got.version != opentofu.Pinned {
			t.Errorf("got %+v", got)
		}
	}
	if asked := releases.Asked(); len(asked) != 3 {
		t.Errorf("asked for %q: once is enough", asked)
	}
	for _, want := range []string{"Downloading OpenTofu " + opentofu.Pinned + " from " + releases.URL, " MB\n", "Installed " + opentofu.Path(tools, opentofu.Pinned), "it is signed by"} {
		if !strings.Contains(news.String(), want) {
			t.Errorf("want %q in\n%s", want, news.String())
		}
	}
}

func TestAServerThatCannotFetchTofuSaysWhatToDo(t *testing.T) {
	releases := releasetest.New(t)
	for sentence, test := range map[string]struct {
		fetch bool
		says  string
	}{
		"it may not":                     {false, "--fetch-tofu=false"},
		"the mirror has no such release": {true, "the file does not exist"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			tools := filepath.Join(dir, "tools")
			_, err := findTool(t.Context(), &Common{FetchTofu: test.fetch, ToolSource: opentofu.Source{URL: releases.URL, KeyFile: releases.KeyFile}}, tools)
			if err == nil {
				t.Fatal("it found one")
			}
			for _, want := range []string{test.says, "\n    yuba tools install " + opentofu.Pinned + " --tools " + tools + "\n    make tofu\n    yuba up --tofu PATH"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in\n%v", want, err)
				}
			}
		})
	}
}
