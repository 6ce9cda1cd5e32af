// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// ErrNoBackup means that a file is not the backup of a cluster.
var ErrNoBackup = errors.New("it is not a backup of namespaces")

// maxObject limits an object in a backup. The API stores none that is larger than 1.5 MiB.
const maxObject = 16 << 20

// OpenBackup makes a backup the source of a move. The file must be open as long as it is used.
func OpenBackup(name string, file io.ReaderAt, size int64) (*Side, []string, error) {
	if head, err := tar.NewReader(io.NewSectionReader(file, 0, size)).Next(); err != nil || head.Name != homeName {
		return nil, nil, ErrNoBackup
	}
	archive, err := bundle.Open(file, size)
	if err != nil {
		return nil, nil, fmt.Errorf("read the backup %s: %w", name, err)
	}
	var header homeHeader
	if err := archive.JSON(homeName, maxObject, &header); err != nil {
		return nil, nil, fmt.Errorf("read the backup %s: %w", name, err)
	}
	if header.Format != homeFormat {
		return nil, nil, fmt.Errorf("read the backup %s: a newer Yuba wrote it (format %d)", name, header.Format)
	}
	files := &backupFiles{archive: archive, objects: map[string][]unstructured.Unstructured{}}
	s := &Side{Home: decide.Home{ID: "backup of " + header.Home.ID + " at " + header.Created.String(), Name: path.Base(name), Yuba: header.Home.Yuba},
		Content: files, files: files, served: map[schema.GroupKind][]string{}}
	for _, member := range archive.Names() {
		if err := files.learn(s, member); err != nil {
			return nil, nil, fmt.Errorf("read the backup %s: %w", name, err)
		}
	}
	return s, header.Namespaces, nil
}

// backupFiles reads a backup like a home.
type backupFiles struct {
	archive *bundle.Archive
	// objects are lists by kind and namespace.
	objects map[string][]unstructured.Unstructured
}

func (f *backupFiles) learn(s *Side, member string) error {
	part := strings.Split(member, "/")
	if len(part) < 3 || part[0] != "namespaces" || !strings.HasSuffix(member, ".json") {
		return nil
	}
	k := namespaceKind
	if len(part) == 4 {
		if k = shape.KindOf(part[2]); k.Plural == "" {
			return nil // of a newer Yuba
		}
	}
	var o unstructured.Unstructured
	if err := f.archive.JSON(member, maxObject, &o); err != nil {
		return err
	}
	ns := part[1]
	if len(part) == 3 {
		ns = ""
	} else if o.GetNamespace() != ns {
		return fmt.Errorf("%s is in namespace %q", member, o.GetNamespace())
	}
	key := k.String() + "/" + ns
	f.objects[key] = append(f.objects[key], o)
	if version := o.GroupVersionKind().Version; len(s.served[k.GK]) == 0 {
		s.served[k.GK] = []string{version}
	}
	return nil
}

func (f *backupFiles) list(k shape.Kind, ns string) []unstructured.Unstructured {
	return f.objects[k.String()+"/"+ns]
}

func (f *backupFiles) get(k shape.Kind, ns, name string) *unstructured.Unstructured {
	for _, o := range f.list(k, ns) {
		if o.GetName() == name {
			return o.DeepCopy()
		}
	}
	return nil
}

func (f *backupFiles) open(kind, name string) (io.ReadCloser, error) {
	r := f.archive.Reader(name)
	if r == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
	}
	return io.NopCloser(r), nil
}

// Export reads the content of a stack.
func (f *backupFiles) Export(_ context.Context, ns, name string) (io.ReadCloser, error) {
	return f.open("content", "namespaces/"+ns+"/content/"+name+".tar")
}

// Archive reads the archive of an ExternalArtifact.
func (f *backupFiles) Archive(_ context.Context, _, ns, name string) (io.ReadCloser, error) {
	return f.open("archive", "namespaces/"+ns+"/archives/"+name+".tar.gz")
}

// contents is the part of the content client that moves use.
type contents interface {
	Export(ctx context.Context, namespace, name string) (io.ReadCloser, error)
	Archive(ctx context.Context, plural, namespace, name string) (io.ReadCloser, error)
}

// client is the content of a home that is not a backup.
func (s *Side) client() *content.Client {
	c, _ := s.Content.(*content.Client) //nolint:errcheck // a backup is only read
	return c
}

// Restore writes a backup, the source, to the target. Keep leaves everything suspended there.
func (m *Mover) Restore(ctx context.Context, keep bool) (Summary, error) {
	check := func(g *gathered) error {
		if names := g.unsuspendable(); keep && len(names) > 0 {
			return fmt.Errorf("objects of tenants cannot be suspended, and would start: %s. Restore without --suspended, when the old home is gone", strings.Join(names, ", "))
		}
		return nil
	}
	return m.exclusively(ctx, check, func(ctx context.Context, report Report, g *gathered) (Report, *copied, []resumed, error) {
		if keep {
			g.suspendAll()
		}
		copied, resumed, err := m.restore(ctx, g)
		return report, copied, resumed, err
	})
}

func (m *Mover) restore(ctx context.Context, g *gathered) (*copied, []resumed, error) {
	if err := m.each(g, ctx, m.announce); err != nil {
		return nil, nil, err
	}
	copied, err := m.copyAndVerify(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	m.torns = map[string]string{}
	if err := m.holdTorn(ctx, g); err != nil {
		return nil, nil, err
	}
	resumed, err := m.finish(ctx, g, m.recordRestored)
	return copied, resumed, err
}

// recordRestored records at the target that a restore is complete.
func (m *Mover) recordRestored(ctx context.Context, _ *gathered, s *space) error {
	s.to.Phase = decide.PhaseDone
	return m.To.writeRecord(ctx, s.name, s.to)
}

// unsuspendable names the objects to restore whose controllers work although nothing else does.
func (g *gathered) unsuspendable() (names []string) {
	for _, s := range g.spaces {
		for _, p := range s.copying() {
			if p.kind.Active && p.kind.Hold == nil {
				names = append(names, p.item.Kind+" "+s.name+"/"+p.item.Name)
			}
		}
	}
	return names
}

// suspendAll makes all objects that can be suspended look as if they had been.
func (g *gathered) suspendAll() {
	for _, s := range g.spaces {
		for _, p := range s.pairs {
			if p.kind.Hold != nil {
				_ = unstructured.SetNestedField(p.source.Object, true, "spec", "suspend") // a spec is a map
			}
		}
	}
}

var _ contents = (*content.Client)(nil)
