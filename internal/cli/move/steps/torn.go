// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// A backup reads objects first and content later. A run that writes its state in between leaves a
// version that is newer than the state in the Secret: a stack that is resumed on the older state would
// create resources again. So it stays suspended.

// holdTorn suspends the restored stacks whose state is older than their newest version.
func (m *Mover) holdTorn(ctx context.Context, g *gathered) error {
	if !m.To.Yuba || !m.From.Yuba {
		return nil
	}
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		for _, p := range s.copying() {
			if p.kind.GK != shape.Stacks.GK {
				continue
			}
			why, err := m.torn(ctx, p)
			if err != nil {
				return fmt.Errorf("compare the state of %s/%s with its versions: %w", s.name, p.item.Name, err)
			}
			if why == "" {
				continue
			}
			if err := m.keepSuspended(ctx, p); err != nil {
				return err
			}
			m.torns[s.name+"/"+p.item.Name] = why
			m.News("%s/%s stays suspended: %s", s.name, p.item.Name, why)
		}
	}
	return nil
}

// torn says why a restored state is not the newest; empty if it is.
func (m *Mover) torn(ctx context.Context, p *pair) (string, error) {
	t, err := stackOf(p.source)
	if err != nil || t.KeepsOwnState() {
		return "", err
	}
	versions, err := m.To.client().Versions(ctx, t.Namespace, t.Name)
	if err != nil || len(versions.Items) == 0 {
		return "", err
	}
	secret, err := m.To.get(ctx, shape.Secrets, "v1", t.Namespace, t.StateSecretName())
	if err != nil {
		return "", err
	}
	var current *statefile.File
	if secret != nil {
		if current, err = currentState(secret); err != nil {
			return "", err
		}
	}
	return tornState(t.Namespace, t.Name, current, versions.Items[0]), nil
}

// tornState compares a state with the newest version; it is nil without one.
func tornState(namespace, name string, current *statefile.File, newest state.Version) string {
	has := "no state"
	if current != nil {
		if current.Serial >= newest.Serial && (current.Lineage == "" || current.Lineage == newest.Lineage) {
			return ""
		}
		has = fmt.Sprintf("its state with serial %d", current.Serial)
	}
	return fmt.Sprintf("the backup has %s, and a newer version with serial %d: it was made during a run. Make the newest version the state, and resume:\n"+
		"    yuba state rollback %s %s -n %s\n    yuba resume %s -n %s", has, newest.Serial, name, newest.ID, namespace, name, namespace)
}

// currentState reads the serial and lineage of the state in a Secret. The Secret
// of a large state has only the ID of a version, which ends with the serial.
func currentState(secret *unstructured.Unstructured) (*statefile.File, error) {
	if at := secret.GetAnnotations()[state.AnnotationStateBlob]; at != "" {
		_, serial, _ := strings.Cut(path.Base(at), "-")
		n, err := strconv.ParseUint(serial, 10, 64)
		return &statefile.File{Serial: n}, err
	}
	text, ok, _ := unstructured.NestedString(secret.Object, "data", "tfstate") //nolint:errcheck // none
	if !ok {
		return nil, nil
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, state.MaxSize))
	if err != nil {
		return nil, err
	}
	return statefile.Parse(data)
}

// keepSuspended changes what the mark of an arriving object restores.
func (m *Mover) keepSuspended(ctx context.Context, p *pair) error {
	return m.To.retried(ctx, p, func(live *unstructured.Unstructured) error {
		mark, ok := moving.ArrivingFrom(live)
		if !ok {
			return nil
		}
		mark.Before = map[string]any{"suspend": true}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": live.GetResourceVersion(),
			"annotations": map[string]any{moving.AnnotationArriving: mark.Text()}}})
		if err != nil {
			return err
		}
		made, err := m.To.patch(ctx, p.kind, p.version, p.item.Namespace, p.item.Name, patch)
		if err == nil {
			p.target = made
		}
		return err
	})
}
