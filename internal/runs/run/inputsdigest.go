// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// InputsDigest identifies the values of a run's inputs: what its plan depends on, except for the program, the state and the
// world. Secrets are among them, so that it must not be shown. Without credentials, it leaves out where these are: the
// environment, files in the home directory, and settings of the backend.
func (s *Spec) InputsDigest(credentials bool) string {
	variables := map[string]json.RawMessage{}
	for name, v := range s.Variables {
		variables[name] = v.Value
	}
	files := slices.Clone(s.Files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Path, b.Path)) })
	parts := []any{"inputs 1", variables, s.VarFiles, s.Workspace, s.Targets, s.Destroy}
	if credentials {
		env := map[string]string{}
		for _, e := range s.Env {
			env[e.Name] = e.Value
		}
		parts = append(parts, env, s.Backend)
	} else {
		files = slices.DeleteFunc(files, func(f File) bool { return f.Location == FileInHome })
	}
	contents := [][3]string{}
	for _, f := range files {
		contents = append(contents, [3]string{string(f.Location), f.Path, string(f.Content)})
	}
	data, err := json.Marshal(append(parts, contents))
	if err != nil {
		panic(fmt.Sprintf("encode the inputs of a run: %v. This is a bug in Yuba.", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
