// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// known are a stack's inputs at one moment: as a run had them, or as they are now.
type known struct {
	artifact run.Artifact
	inputs   run.Inputs
	path     string
	spec     *run.Spec
	// tool is the tool that ran; empty when none did.
	tool string
	// serial is the state's; nil when it is not known.
	serial *uint64
	// origins say where values come from; nil if that is no longer known.
	origins map[string]string
}

// ofRecord are the inputs that a run had.
func ofRecord(rec *run.Record) known {
	k := known{artifact: rec.Spec.Artifact, path: rec.Spec.Path, spec: &rec.Spec}
	if rec.Inputs != nil {
		k.inputs = *rec.Inputs
	}
	if rec.Result != nil && rec.Result.ToolVersion != "" {
		k.tool = strings.TrimSpace(rec.Result.ToolName + " " + rec.Result.ToolVersion)
	}
	if rec.StateMark != nil {
		k.serial = &rec.StateMark.Serial
	}
	return k
}

// changedInputs lists the inputs that differ, without values of secrets.
func changedInputs(was, is known) []run.InputChange {
	secrets := [2]*mask.Masker{knownSecrets(was.spec).Masker(inputs.Mask), knownSecrets(is.spec).Masker(inputs.Mask)}
	hidden := func(text string) bool { return secrets[0].Hides(text) || secrets[1].Hides(text) }
	var list []run.InputChange
	add := func(part, name, from, to string) {
		if from != to {
			list = append(list, run.InputChange{Part: part, Name: name, From: from, To: to})
		}
	}
	if was.artifact.Digest != is.artifact.Digest || was.artifact.Revision != is.artifact.Revision {
		list = append(list, run.InputChange{Part: "source", From: was.artifact.Revision, To: is.artifact.Revision,
			Untouched: was.artifact.Digest == is.artifact.Digest || is.inputs.Part != "" && was.inputs.MayBe() == is.inputs.Part})
	}
	add("path", "", was.path, is.path)
	add("workspace", "", was.spec.Workspace, is.spec.Workspace)
	list = append(list, changedVariables(was, is, hidden)...)
	list = append(list, changedEnv(was, is, hidden)...)
	list = append(list, changedFiles(was.spec, is.spec)...)
	add("values", "files", strings.Join(was.spec.VarFiles, " "), strings.Join(is.spec.VarFiles, " "))
	if !bytes.Equal(was.spec.CLIConfig, is.spec.CLIConfig) {
		list = append(list, run.InputChange{Part: "cli", Secret: true})
	}
	list = append(list, changedBackend(was.spec.Backend, is.spec.Backend)...)
	add("targets", "", strings.Join(was.spec.Targets, " "), strings.Join(is.spec.Targets, " "))
	add("destroy", "", fmt.Sprint(was.spec.Destroy), fmt.Sprint(is.spec.Destroy))
	add("tool", "asked for", asked(was.spec.Tool), asked(is.spec.Tool))
	if was.tool != "" && is.tool != "" {
		add("tool", "", was.tool, is.tool)
	}
	for _, name := range union(was.inputs.Outputs, is.inputs.Outputs) {
		add("outputs", name, shortDigest(was.inputs.Outputs[name]), shortDigest(is.inputs.Outputs[name]))
	}
	if was.serial != nil && is.serial != nil {
		add("state", "", fmt.Sprintf("serial %d", *was.serial), fmt.Sprintf("serial %d", *is.serial))
	}
	return list
}

func asked(t run.Tool) string { return strings.TrimSpace(t.Name + " " + t.Version) }

// shortDigest is the distinctive beginning of a digest.
func shortDigest(digest string) string {
	if hash, ok := strings.CutPrefix(digest, "sha256:"); ok && len(hash) > 12 {
		return "sha256:" + hash[:12]
	}
	return digest
}

func union[V any](a, b map[string]V) []string {
	names := append(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))...)
	slices.Sort(names)
	return slices.Compact(names)
}

func changedVariables(was, is known, hidden func(string) bool) []run.InputChange {
	var list []run.InputChange
	for _, name := range union(was.spec.Variables, is.spec.Variables) {
		before, had := was.spec.Variables[name]
		after, has := is.spec.Variables[name]
		if had && has && sameJSON(before.Value, after.Value) {
			continue
		}
		c := run.InputChange{Part: "variable", Name: name, Origin: is.origins[name], Secret: before.Secret || after.Secret}
		if !c.Secret {
			c.From, c.To = valueInShort(before.Value, hidden), valueInShort(after.Value, hidden)
		}
		list = append(list, c)
	}
	return list
}

// sameJSON ignores white space only: the digest separates other spellings, too.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func changedEnv(was, is known, hidden func(string) bool) []run.InputChange {
	before, after := envOf(was.spec), envOf(is.spec)
	var list []run.InputChange
	for _, name := range union(before, after) {
		if b, a := before[name], after[name]; b != a {
			c := run.InputChange{Part: "environment", Name: name, Origin: is.origins["env "+name], Secret: b.Secret || a.Secret}
			if !c.Secret {
				c.From, c.To = inShort(b.Value, hidden), inShort(a.Value, hidden)
			}
			list = append(list, c)
		}
	}
	return list
}

func envOf(s *run.Spec) map[string]run.EnvVar {
	env := map[string]run.EnvVar{}
	for _, e := range s.Env {
		env[e.Name] = e
	}
	return env
}

// changedFiles lists files written for the tool. They come from Secrets, or contain some.
func changedFiles(was, is *run.Spec) []run.InputChange {
	of := func(s *run.Spec) map[string]string {
		files := map[string]string{}
		for _, f := range s.Files {
			files[string(f.Location)+"/"+f.Path] = string(f.Content)
		}
		return files
	}
	return changedNames("file", of(was), of(is))
}

// changedNames names the values that differ, without showing them.
func changedNames(part string, was, is map[string]string) []run.InputChange {
	var list []run.InputChange
	for _, name := range union(was, is) {
		if was[name] != is[name] {
			list = append(list, run.InputChange{Part: part, Name: name, Secret: true})
		}
	}
	return list
}

// changedBackend names changed settings: all values may be credentials.
func changedBackend(was, is run.Backend) []run.InputChange {
	var list []run.InputChange
	if was.Kind != is.Kind {
		list = append(list, run.InputChange{Part: "backend", Name: "kind", From: string(was.Kind), To: string(is.Kind)})
	}
	if was.Override != is.Override {
		list = append(list, run.InputChange{Part: "backend", Name: "configuration", Secret: true})
	}
	return append(list, changedNames("backend", was.Settings, is.Settings)...)
}

// maxShown is how much of a value is shown.
const maxShown = 60

// inShort shortens a value, and hides one that is secret elsewhere.
func inShort(value string, hidden func(string) bool) string {
	if hidden(value) {
		return inputs.Mask
	}
	if runes := []rune(value); len(runes) > maxShown {
		sum := sha256.Sum256([]byte(value))
		return fmt.Sprintf("%s… (%d bytes, sha256:%s)", string(runes[:maxShown]), len(value), hex.EncodeToString(sum[:6]))
	}
	return value
}

// valueInShort is inShort for JSON, in which a secret may be written in more ways than one.
func valueInShort(value json.RawMessage, hidden func(string) bool) string {
	var decoded any
	if json.Unmarshal(value, &decoded) == nil {
		for _, text := range reads.StringsIn(decoded) {
			if hidden(text) {
				return inputs.Mask
			}
		}
	}
	return inShort(string(value), hidden)
}

// knownSecrets are a run's secrets. Any setting of a backend may be one.
func knownSecrets(s *run.Spec) *mask.Secrets {
	secrets := s.KnownSecrets()
	for _, value := range s.Backend.Settings {
		secrets.Add(value)
	}
	return secrets
}
