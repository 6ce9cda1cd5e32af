// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
)

// copyContents copies the histories, state versions and plans of stacks.
func (m *Mover) copyContents(ctx context.Context, stacks []*pair, c *copied) error {
	if !m.From.Yuba || !m.To.Yuba {
		return nil
	}
	for i, p := range stacks {
		summary, err := m.copyContent(ctx, p)
		if err != nil {
			return err
		}
		name := p.item.Namespace + "/" + p.item.Name
		c.parcels[name] = summary
		for _, damaged := range summary.Damaged {
			m.News("%s: %s is damaged at %s, and was not copied.", name, damaged, m.From.Name)
		}
		if (i+1)%10 == 0 || i+1 == len(stacks) {
			m.News("Copied the history of %d of %d stacks.", i+1, len(stacks))
		}
	}
	return nil
}

// copyContent streams the content of one stack from one home to the other.
func (m *Mover) copyContent(ctx context.Context, p *pair) (parcel.Summary, error) {
	failed := func(action string, err error) error {
		return fmt.Errorf("%s the content of %s/%s: %w", action, p.item.Namespace, p.item.Name, err)
	}
	if err := m.To.mayWrite(); err != nil {
		return parcel.Summary{}, err
	}
	content, err := m.From.Content.Export(ctx, p.item.Namespace, p.item.Name)
	if m.From.files != nil && apierrors.IsNotFound(err) {
		return parcel.Summary{}, nil // the stack was deleted during the backup
	}
	if err != nil {
		return parcel.Summary{}, failed("export", err)
	}
	defer content.Close() //nolint:errcheck // read only
	broken := &watched{Reader: content}
	summary, err := m.To.client().Import(ctx, p.item.Namespace, p.item.Name, broken)
	if broken.err != nil {
		return summary, failed("export", broken.err)
	}
	if err != nil {
		return summary, failed("import", err)
	}
	return summary, nil
}

// watched remembers why reading failed: the other home would only report the end.
type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// copyArchives pushes the archives of ExternalArtifacts that "yuba push" made.
func (m *Mover) copyArchives(ctx context.Context, s *space, c *copied) error {
	for _, p := range s.copying() {
		if !m.pushes(p) {
			continue
		}
		if err := m.copyArchive(ctx, p); err != nil {
			return fmt.Errorf("copy the archive of ExternalArtifact %s/%s: %w", p.item.Namespace, p.item.Name, err)
		}
		c.archives++
	}
	return nil
}

// pushes reports whether an object is the archive of a pushed directory, which is a part of it.
func (m *Mover) pushes(p *pair) bool {
	if p.kind.GK != shape.ExternalArtifacts.GK || !m.From.Yuba || !m.To.Yuba {
		return false
	}
	_, managed, _ := unstructured.NestedMap(p.source.Object, "spec", "sourceRef") //nolint:errcheck // none
	return !managed && artifactOf(p.source) != ""
}

func (m *Mover) copyArchive(ctx context.Context, p *pair) error {
	archive, err := m.From.Content.Archive(ctx, p.kind.Plural, p.item.Namespace, p.item.Name)
	if apierrors.IsNotFound(err) {
		m.News("ExternalArtifact %s/%s: its archive is not in the store of %s. Push it again at %s.", p.item.Namespace, p.item.Name, m.From.Name, m.To.Name)
		return nil
	}
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // read only
	// A push reads the archive twice.
	file, err := os.CreateTemp("", "yuba-move-*")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close(); _ = os.Remove(file.Name()) }()
	if _, err := io.Copy(file, archive); err != nil {
		return err
	}
	_, err = m.To.client().Push(ctx, p.item.Namespace, p.item.Name, file)
	return err
}
