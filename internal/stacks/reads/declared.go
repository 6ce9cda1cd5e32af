// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// lockFileName is the name of the dependency lock file.
const lockFileName = ".terraform.lock.hcl"

// Declared is what a configuration declares, and what a run would find beside it.
type Declared struct {
	*module.Tree
	// LockFile is the dependency lock file in the source; nil if there is none.
	LockFile []byte
	// Artifact is the source.
	Artifact run.Artifact
}

// Declared reads what a stack's configuration declares, with the files that Yuba writes into it. What
// cannot be read is in Tree.Unread.
func (s *Sources) Declared(ctx context.Context, obj *infrav1.Terraform, c *Configuration) (*Declared, error) {
	artifact := c.program.artifact
	t, err := s.tree(ctx, artifact.Digest)
	if err != nil {
		return nil, err
	}
	dir := cmp.Or(CleanDir(obj.Spec.Path), ".")
	d := &Declared{Artifact: artifact}
	files, err := s.declaredFiles(ctx, t, artifact.Digest)
	if err != nil {
		return nil, err
	}
	own := map[string]map[string][]byte{}
	for _, f := range c.files {
		if f.Location == run.FileInModule {
			name := path.Join(dir, f.Path)
			if own[path.Dir(name)] == nil {
				own[path.Dir(name)] = map[string][]byte{}
			}
			own[path.Dir(name)][path.Base(name)] = f.Content
		}
	}
	d.LockFile = own[dir][lockFileName]
	if d.LockFile == nil {
		d.LockFile = files.content(path.Join(dir, lockFileName))
	}
	d.Tree = module.ReadTree(func(dir string) (map[string][]byte, string) {
		found, why := files.in(dir)
		maps.Copy(found, own[dir])
		return found, why
	}, dir, nil)
	return d, nil
}

// declaredFiles gives access to the configuration files of an archive.
type declaredFiles struct {
	index *archive.Index
	// files replace the index of an archive that is too large for one; why says that nothing is known.
	files map[string][]byte
	why   string
}

func (s *Sources) declaredFiles(ctx context.Context, t *tree, digest string) (*declaredFiles, error) {
	if t.index != nil {
		return &declaredFiles{index: t.index}, nil
	}
	packed, err := s.Store.OpenArtifact(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read the source archive %s: %w", digest, err)
	}
	defer packed.Close() //nolint:errcheck // read only
	var wanted []string
	files, err := archive.Files(ctx, packed, archive.Limits{MaxPacked: s.MaxArchive}, digest, maxTreeKept, func(name string) bool {
		keep := module.IsConfigFile(name) || path.Base(name) == lockFileName
		if keep {
			wanted = append(wanted, name)
		}
		return keep
	})
	if archive.IsLimit(err) {
		return &declaredFiles{why: "the source is too large to be read: " + err.Error()}, nil
	}
	if err != nil {
		return nil, unreadable(digest, err)
	}
	d := &declaredFiles{files: files}
	for _, name := range wanted {
		if _, there := files[name]; !there {
			d.why = leadsAway(name)
		}
	}
	return d, nil
}

// leadsAway is the problem of a link to a file with another extension: tofu reads it as configuration.
func leadsAway(name string) string {
	return fmt.Sprintf("the link %s leads to a file that is not read", name)
}

func (d *declaredFiles) content(name string) []byte {
	if d.index == nil {
		return d.files[name]
	}
	content, _ := d.index.Content(name)
	return content
}

// in returns the configuration files of a directory.
func (d *declaredFiles) in(dir string) (files map[string][]byte, why string) {
	files, why = map[string][]byte{}, d.why
	if d.index == nil {
		for name, content := range d.files {
			if path.Dir(name) == dir {
				files[path.Base(name)] = content
			}
		}
		return files, why
	}
	below := d.index.Below(dir)
	for i := range below {
		f := &below[i]
		if f.Dir || path.Dir(f.Name) != dir || !module.IsConfigFile(f.Name) {
			continue
		}
		content, kept := d.index.Content(f.Name)
		if !kept {
			why = leadsAway(f.Name)
			continue
		}
		files[path.Base(f.Name)] = content
	}
	return files, why
}
