// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"testing"
)

func TestInputsDigest(t *testing.T) {
	spec := func(change func(*Spec)) *Spec {
		s := &Spec{ID: "1", Artifact: Artifact{Digest: "sha256:1"}, Variables: map[string]Variable{"a": {Value: json.RawMessage(`1`)}}, Workspace: "default",
			Env: []EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, Files: []File{{Location: FileInModule, Path: "m", Content: []byte("1")}, {Location: FileInHome, Path: "h", Content: []byte("1")}}}
		change(s)
		return s
	}
	base := spec(func(*Spec) {})
	for sentence, c := range map[string]struct {
		change        func(*Spec)
		with, without bool // whether it is equal with and without credentials
	}{
		"another run":                        {func(s *Spec) { s.ID, s.Stack.Name, s.Artifact.Digest = "2", "x+2", "sha256:2" }, true, true},
		"another order of the environment":   {func(s *Spec) { s.Env[0], s.Env[1] = s.Env[1], s.Env[0] }, true, true},
		"it is known that nothing is secret": {func(s *Spec) { s.Variables["a"] = Variable{Value: json.RawMessage(`1`), Open: true} }, true, true},
		"another value of a variable":        {func(s *Spec) { s.Variables["a"] = Variable{Value: json.RawMessage(`2`)} }, false, false},
		"another value in the environment":   {func(s *Spec) { s.Env[0].Value = "3" }, false, true},
		"another file in the module":         {func(s *Spec) { s.Files[0].Content = []byte("2") }, false, false},
		"another file in the home":           {func(s *Spec) { s.Files[1].Content = []byte("2") }, false, true},
		"another workspace":                  {func(s *Spec) { s.Workspace = "prod" }, false, false},
		"another target":                     {func(s *Spec) { s.Targets = []string{"a"} }, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			other := spec(c.change)
			if got := base.InputsDigest(true) == other.InputsDigest(true); got != c.with {
				t.Errorf("with credentials, it is equal: %v", got)
			}
			if got := base.InputsDigest(false) == other.InputsDigest(false); got != c.without {
				t.Errorf("without credentials, it is equal: %v", got)
			}
		})
	}
	if base.InputsDigest(true) == base.InputsDigest(false) {
		t.Error("both digests are equal")
	}
}
