// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
)

// VerifyError means that the homes differ after copying. Everything is still suspended at both.
type VerifyError struct{ Problems []string }

func (e *VerifyError) Error() string {
	return "compare both homes: they differ, so nothing was resumed:\n    " + strings.Join(e.Problems, "\n    ") +
		"\nRun the same command again to copy once more, or add --cancel to resume everything at the source"
}

// verify reads what was copied from the target, and compares it with the source.
func (m *Mover) verify(ctx context.Context, g *gathered, c *copied) error {
	e := &VerifyError{}
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		for _, p := range s.copying() {
			problem, err := m.verifyOne(ctx, g, p, c.parcels[s.name+"/"+p.item.Name])
			if err != nil {
				return err
			}
			if problem != "" {
				e.Problems = append(e.Problems, fmt.Sprintf("%s %s/%s: %s", p.item.Kind, s.name, p.item.Name, problem))
			}
		}
	}
	if len(e.Problems) > 0 {
		return e
	}
	if c.objects > 0 {
		m.News("Compared both homes: objects, states and their versions are equal, and no run is missing.")
	}
	return nil
}

func (m *Mover) verifyOne(ctx context.Context, g *gathered, p *pair, content parcel.Summary) (string, error) {
	here, err := m.From.get(ctx, p.kind, p.version, p.item.Namespace, p.item.Name)
	if err != nil {
		return "", err
	}
	there, err := m.To.get(ctx, p.kind, p.version, p.item.Namespace, p.item.Name)
	if err != nil {
		return "", err
	}
	switch {
	case here == nil:
		return "it disappeared at " + m.From.Name, nil
	case there == nil:
		return "it is missing at " + m.To.Name, nil
	}
	wanted, _ := shape.Wanted(p.kind, here, shape.Target{APIVersion: apiVersion(p.kind, p.version), UIDs: g.uids})
	if !shape.Covers(p.kind, there, wanted) {
		return "its content differs", nil
	}
	if p.kind.GK != shape.Stacks.GK || !m.From.Yuba || !m.To.Yuba || m.From.files != nil {
		return "", nil // the import of a backup has compared the content with its manifest
	}
	t, err := stackOf(here)
	if err != nil {
		return "", err
	}
	problem, err := m.verifyContent(ctx, t, content)
	if err != nil {
		err = fmt.Errorf("compare the content of %s/%s: %w", t.Namespace, t.Name, err)
	}
	return problem, err
}

// manyRuns is the largest number of runs that a server lists, and more than it stores by default.
const manyRuns = 500

// verifyContent compares state versions and runs.
func (m *Mover) verifyContent(ctx context.Context, t *infrav1.Terraform, content parcel.Summary) (string, error) {
	if !t.KeepsOwnState() {
		here, err := m.From.client().Versions(ctx, t.Namespace, t.Name)
		if err != nil {
			return "", err
		}
		there, err := m.To.client().Versions(ctx, t.Namespace, t.Name)
		if err != nil {
			return "", err
		}
		have := map[string]string{}
		for _, v := range there.Items {
			have[v.ID] = fmt.Sprint(v.Serial, v.Lineage, v.Digest)
		}
		for _, v := range here.Items {
			if have[v.ID] != fmt.Sprint(v.Serial, v.Lineage, v.Digest) && !slices.Contains(content.Damaged, "states/"+v.ID) {
				return "version " + v.ID + " of its state is missing or differs", nil
			}
		}
	}
	here, err := m.From.client().Runs(ctx, t.Namespace, t.Name, manyRuns)
	if err != nil {
		return "", err
	}
	there, err := m.To.client().Runs(ctx, t.Namespace, t.Name, manyRuns)
	if err != nil {
		return "", err
	}
	have := map[string]bool{}
	for _, r := range there.Items {
		have[r.Spec.ID] = true
	}
	for _, r := range here.Items {
		if !have[r.Spec.ID] && r.Result != nil && !slices.Contains(content.Damaged, "runs/"+r.Spec.ID) {
			return "run " + r.Spec.ID + " is missing", nil
		}
	}
	return "", nil
}
