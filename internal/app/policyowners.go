// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/policy/codeowners"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// programs reads the archives of sources, to find the owners of a stack's files.
type programs struct {
	open   func(ctx context.Context, digest string) (io.ReadCloser, error)
	limits archive.Limits
}

// ownersFor are the owners of the stack's files, if its policies ask for them. The note is for people.
func (p *policies) ownersFor(ctx context.Context, binding *judge.Binding, obj *infrav1.Terraform, rec run.Record, document []byte) (o judge.Owners, note string) {
	if !binding.WantsOwners() {
		return o, ""
	}
	groups, note, err := p.programs.owners(ctx, obj, rec, document)
	if err != nil {
		o.Unknown = err.Error()
		return o, o.Unknown
	}
	o.Groups = groups
	return o, note
}

// owners finds the owners of all files that the stack's program has now or had when it was applied last:
// a change of spec.path, or of what a commit calls, frees nobody. Whoever changes CODEOWNERS in the same
// commit is bound by the file of the last applied revision.
func (p programs) owners(ctx context.Context, obj *infrav1.Terraform, rec run.Record, document []byte) ([]codeowners.Group, string, error) {
	if obj.Spec.SourceRef == nil || rec.Spec.Artifact.Digest == "" {
		return nil, "", errors.New("the stack has no source, and so no CODEOWNERS")
	}
	dirs := append(localDirs(rec.Spec.Path, document), partOf(rec)...)
	if len(document) == 0 {
		dirs = append(dirs, ".") // what a plan calls that is not stored, nobody knows
	}
	applied := obj.Status.LastAppliedArtifact
	if applied != nil && applied.Path != "" {
		dirs = append(dirs, cleanDir(applied.Path))
	}
	now, err := p.read(ctx, rec.Spec.Artifact.Digest, dirs)
	if err != nil {
		return nil, "", fmt.Errorf("read the source at %s: %w", rec.Spec.Artifact.Revision, err)
	}
	ruling, revision := now, rec.Spec.Artifact.Revision
	if applied != nil && applied.Digest != "" && applied.Digest != rec.Spec.Artifact.Digest {
		before, err := p.read(ctx, applied.Digest, dirs)
		if err != nil {
			return nil, "", fmt.Errorf("read the last applied source, at %s: %w", applied.Revision, err)
		}
		now.files = append(now.files, before.files...)
		if before.place != "" {
			ruling, revision = before, applied.Revision
		}
	}
	if ruling.place == "" {
		return nil, "", fmt.Errorf("the source has no file %s", strings.Join(codeowners.Places, ", "))
	}
	file, err := codeowners.Parse(ruling.place, ruling.text)
	if err != nil {
		return nil, "", fmt.Errorf("at %s: %w", revision, err)
	}
	slices.Sort(now.files)
	groups, err := file.Owners(slices.Compact(now.files))
	if err != nil {
		return nil, "", fmt.Errorf("%s at %s: %w", ruling.place, revision, err)
	}
	note := fmt.Sprintf("%s at %s", ruling.place, revision)
	if len(file.Skipped) > 0 {
		note += fmt.Sprintf(": %d lines cannot be read: %s", len(file.Skipped)+file.SkippedMore, strings.Join(file.Skipped, "; "))
	}
	return groups, note, nil
}

// ownedFiles is what the archive of a source says about owners.
type ownedFiles struct {
	// files are those in the directories of the stack.
	files []string
	// place is that of CODEOWNERS; empty if there is none.
	place string
	text  []byte
}

func (p programs) read(ctx context.Context, digest string, dirs []string) (found ownedFiles, err error) {
	packed, err := p.open(ctx, digest)
	if err != nil {
		return found, err
	}
	defer packed.Close() //nolint:errcheck // read only
	whole := slices.Contains(dirs, ".")
	texts, err := archive.Files(ctx, packed, p.limits, digest, int64(len(codeowners.Places))*(codeowners.MaxBytes+1), func(name string) bool {
		if whole || slices.ContainsFunc(dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }) {
			if len(found.files) <= codeowners.MaxPaths { // beyond that, there is an error
				found.files = append(found.files, name)
			}
		}
		return slices.Contains(codeowners.Places, name)
	})
	if err != nil {
		return found, err
	}
	for _, place := range codeowners.Places {
		if text, there := texts[place]; there {
			found.place, found.text = place, text
			break
		}
	}
	return found, nil
}

func cleanDir(dir string) string {
	if dir = strings.TrimPrefix(path.Clean("/"+dir), "/"); dir == "" {
		return "."
	}
	return dir
}

// partOf is what the run reads of its source, if not all.
func partOf(rec run.Record) []string {
	if rec.Spec.Part == nil {
		return nil
	}
	var dirs []string
	for _, name := range rec.Spec.Part.Paths {
		dirs = append(dirs, cleanDir(name))
	}
	return dirs
}

// called is a module's calls in the configuration of a plan.
type called struct {
	Calls map[string]struct {
		Source string `json:"source"`
		Module called `json:"module"`
	} `json:"module_calls"`
}

// localDirs are the directories of the root module and of the modules of its source that it calls.
func localDirs(root string, document []byte) []string {
	var plan struct {
		Configuration struct {
			Root called `json:"root_module"`
		} `json:"configuration"`
	}
	dirs := []string{cleanDir(root)}
	if json.Unmarshal(document, &plan) != nil {
		return dirs // policies refuse a plan that cannot be read
	}
	var visit func(dir string, c called, depth int)
	visit = func(dir string, c called, depth int) {
		const deepest = 50
		for _, call := range c.Calls {
			if depth > deepest || !strings.HasPrefix(call.Source, "./") && !strings.HasPrefix(call.Source, "../") {
				continue // from elsewhere
			}
			below := cleanDir(path.Join(dir, call.Source))
			if !slices.Contains(dirs, below) {
				dirs = append(dirs, below)
			}
			visit(below, call.Module, depth+1)
		}
	}
	visit(dirs[0], plan.Configuration.Root, 0)
	return dirs
}

// addOwners writes the owners into a verdict.
func addOwners(v *infrav1.PolicyVerdict, binding *judge.Binding, o judge.Owners, note string, d verdicts.Decision) {
	paths, all := binding.OwnersOf(o)
	const most = 60
	for i, who := range all[:min(len(all), most)] {
		missing := slices.ContainsFunc(d.Missing, func(m verdicts.Missing) bool {
			return slices.ContainsFunc(m.OwnersMissing, func(names []string) bool { return slices.Equal(names, who.Names) })
		})
		v.Owners = append(v.Owners, infrav1.PlanOwners{Names: who.Names, Path: paths[i], Users: who.Users, Groups: who.Groups,
			Approved: !missing && len(d.Approvers) > 0})
	}
	v.OwnersNote = infrav1.TrimMessage(note)
}
