// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// A backup of a home that is a cluster has what moves: a bundle with these members.
//
//	yuba-home.json                    what this is: format number, home, author and time
//	namespaces/NS/namespace.json      the namespace
//	namespaces/NS/KIND/NAME.json      its objects
//	namespaces/NS/content/STACK.tar   the content of each stack, see package parcel
//	namespaces/NS/archives/NAME.tar.gz   archives that "yuba push" stored

// homeName is the first member.
const homeName = "yuba-home.json"

// homeFormat is the number of this format.
const homeFormat = 1

type homeHeader struct {
	Format     int         `json:"format"`
	Version    string      `json:"version"`
	Created    time.Time   `json:"created"`
	Home       decide.Home `json:"home"`
	Namespaces []string    `json:"namespaces"`
}

// Backed says what a backup contains.
type Backed struct{ Namespaces, Objects, Stacks int }

// Backup writes the namespaces of a home. Objects come before content, so that the content has
// everything that they refer to.
func (s *Side) Backup(ctx context.Context, w io.Writer, namespaces []string, version string, news func(string, ...any)) (Backed, error) {
	out := bundle.NewWriter(ctx, w, time.Now().UTC())
	if err := out.AddJSON(homeName, homeHeader{Format: homeFormat, Version: version, Created: time.Now().UTC(), Home: s.Home, Namespaces: namespaces}); err != nil {
		return Backed{}, err
	}
	done := Backed{Namespaces: len(namespaces)}
	for _, ns := range namespaces {
		if err := s.backUp(ctx, out, ns, &done); err != nil {
			return done, fmt.Errorf("back up namespace %s of %s: %w", ns, s.Name, err)
		}
		news("Backed up namespace %s.", ns)
	}
	return done, out.Close()
}

func (s *Side) backUp(ctx context.Context, out *bundle.Writer, ns string, done *Backed) error {
	namespace, err := s.namespace(ctx, ns)
	if err != nil {
		return err
	}
	if namespace == nil {
		return errors.New("it does not exist")
	}
	dir := "namespaces/" + ns + "/"
	if err := out.AddJSON(dir+"namespace.json", namespace); err != nil {
		return err
	}
	var stacks, archives []string
	for _, k := range shape.Kinds {
		if len(s.served[k.GK]) == 0 {
			continue
		}
		list, err := s.list(ctx, k, s.served[k.GK][0], ns)
		if err != nil {
			return err
		}
		for i := range list {
			o := &list[i]
			if shape.Skip(k, o) != "" || o.GetDeletionTimestamp() != nil {
				continue
			}
			if err := out.AddJSON(dir+k.String()+"/"+o.GetName()+".json", o); err != nil {
				return err
			}
			done.Objects++
			switch k.GK {
			case shape.Stacks.GK:
				stacks = append(stacks, o.GetName())
			case shape.ExternalArtifacts.GK:
				if _, managed, _ := unstructured.NestedMap(o.Object, "spec", "sourceRef"); !managed && artifactOf(o) != "" { //nolint:errcheck // none
					archives = append(archives, o.GetName())
				}
			}
		}
	}
	return s.backUpContent(ctx, out, ns, stacks, archives, done)
}

func (s *Side) backUpContent(ctx context.Context, out *bundle.Writer, ns string, stacks, archives []string, done *Backed) error {
	if !s.Yuba {
		return nil
	}
	for _, name := range stacks {
		done.Stacks++
		if err := addContent(out, "namespaces/"+ns+"/content/"+name+".tar", func() (io.ReadCloser, error) { return s.Content.Export(ctx, ns, name) }); err != nil {
			return err
		}
	}
	for _, name := range archives {
		err := addContent(out, "namespaces/"+ns+"/archives/"+name+".tar.gz", func() (io.ReadCloser, error) {
			return s.Content.Archive(ctx, shape.ExternalArtifacts.Plural, ns, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addContent adds a stream; one of an object that is gone meanwhile is left out.
func addContent(out *bundle.Writer, name string, open func() (io.ReadCloser, error)) error {
	content, err := open()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(out.Add(name, content), content.Close())
}
