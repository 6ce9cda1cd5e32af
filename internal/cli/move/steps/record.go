// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

const (
	recordKey    = "record.json"
	recordFormat = 1
	// maxRecord keeps a record below what a ConfigMap takes.
	maxRecord = 1000 << 10
)

// record is what a home knows about the moves of a namespace, in a ConfigMap there.
type record struct {
	Format int          `json:"format"`
	Move   string       `json:"move"`
	Role   string       `json:"role"`
	Home   string       `json:"home"`
	Name   string       `json:"name"`
	Phase  decide.Phase `json:"phase"`
	// Claim is the process that wrote the record of a target.
	Claim string `json:"claim,omitempty"`
	// Objects are the objects of all moves with the other home, by KIND/NAME.
	Objects map[string]entry `json:"objects"`

	// live is the ConfigMap as it was read; nil without one.
	live *unstructured.Unstructured
}

// entry is an object of a move.
type entry struct {
	Move string `json:"move"`
	// Digest is that of the source's copy at the end of the move.
	Digest string `json:"digest,omitempty"`
}

func keyOf(kind, name string) string { return kind + "/" + name }

func (r *record) facts() decide.Record {
	return decide.Record{Move: r.Move, Role: r.Role, Home: r.Home, Name: r.Name, Phase: r.Phase}
}

// readRecord reads a home's record; an empty one if there is none.
func (s *Side) readRecord(ctx context.Context, namespace string) (*record, error) {
	live, err := s.get(ctx, shape.ConfigMaps, "v1", namespace, shape.RecordName)
	if err != nil || live == nil {
		return &record{Objects: map[string]entry{}}, err
	}
	text, _, _ := unstructured.NestedString(live.Object, "data", recordKey) //nolint:errcheck // the next lines find out
	r := &record{live: live}
	if err := json.Unmarshal([]byte(text), r); err != nil || r.Format != recordFormat {
		return nil, fmt.Errorf("read ConfigMap %s/%s at %s: it is not the record of a move, or a newer Yuba wrote it. Delete it only if no move is in progress",
			namespace, shape.RecordName, s.Name)
	}
	if r.Objects == nil {
		r.Objects = map[string]entry{}
	}
	return r, nil
}

// writeRecord writes a home's record, if it has not changed since it was read.
func (s *Side) writeRecord(ctx context.Context, namespace string, r *record) error {
	r.Format = recordFormat
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(text) > maxRecord {
		return fmt.Errorf("record the move of namespace %s at %s: it has too many objects (%d) for one move", namespace, s.Name, len(r.Objects))
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{recordKey: string(text)},
		"metadata": map[string]any{"namespace": namespace, "name": shape.RecordName}}}
	if r.live == nil {
		r.live, err = s.create(ctx, shape.ConfigMaps, "v1", o)
		return err
	}
	o.SetResourceVersion(r.live.GetResourceVersion())
	made, err := s.update(ctx, shape.ConfigMaps, "v1", o)
	if err == nil {
		r.live = made
	}
	return err
}

// next is the record of a new or continued move. Entries of earlier moves with the same home and in
// the same direction stay.
func (r *record) next(move, role string, other decide.Home) *record {
	n := &record{Move: move, Role: role, Home: other.ID, Name: other.Name, Phase: decide.PhaseMoving, Objects: map[string]entry{}, live: r.live}
	if r.Role == role && r.Home == other.ID {
		maps.Copy(n.Objects, r.Objects)
	}
	return n
}

// fits reports whether a record has room for more objects when the move is complete: then each has a
// digest. It is asked before anything is suspended.
func (r *record) fits(keys []string) bool {
	full := *r
	full.Move, full.Objects = filler(len(newID())), map[string]entry{}
	done := entry{Move: full.Move, Digest: filler(shape.DigestLength)}
	for key := range r.Objects {
		full.Objects[key] = done
	}
	for _, key := range keys {
		full.Objects[key] = done
	}
	text, err := json.Marshal(full)
	return err == nil && len(text)+recordReserve <= maxRecord
}

// recordReserve is for the fields of a record that are not known yet: homes, role, phase and claim.
const recordReserve = 8 << 10

func filler(n int) string { return strings.Repeat("x", n) }

// tooMany returns the number of objects of a namespace if they do not fit into its records, else 0.
func (s *space) tooMany() int {
	var keys []string
	for _, p := range s.pairs {
		if p.version != "" && shape.Skip(p.kind, p.source) == "" {
			keys = append(keys, keyOf(p.kind.String(), p.source.GetName()))
		}
	}
	if s.from.fits(keys) && s.to.fits(keys) {
		return 0
	}
	return len(keys)
}
