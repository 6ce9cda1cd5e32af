// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listPage is how many objects one request lists.
const listPage = 500

// Referred calls found with the digest of every archive that sources of the kinds refer to,
// whichever controller maintains them. After an error the list is incomplete.
func Referred(ctx context.Context, reader client.Reader, scheme *runtime.Scheme, kinds []string, found func(digest string)) error {
	for _, kind := range kinds {
		next := ""
		for {
			o, err := scheme.New(sourcev1.GroupVersion.WithKind(kind + "List"))
			if err != nil {
				return err
			}
			list := o.(client.ObjectList)
			if err := reader.List(ctx, list, client.Limit(listPage), client.Continue(next)); err != nil {
				return fmt.Errorf("list %s objects for the archives that they refer to: %w", kind, err)
			}
			err = apimeta.EachListItem(list, func(item runtime.Object) error {
				referredBy(item, found)
				return nil
			})
			if err != nil {
				return err
			}
			if next = list.GetContinue(); next == "" {
				break
			}
		}
	}
	return nil
}

func referredBy(item runtime.Object, found func(digest string)) {
	var artifacts []*meta.Artifact
	if source, ok := item.(interface{ GetArtifact() *meta.Artifact }); ok {
		artifacts = append(artifacts, source.GetArtifact())
	}
	if repository, ok := item.(*sourcev1.GitRepository); ok {
		artifacts = append(artifacts, repository.Status.IncludedArtifacts...)
	}
	for _, a := range artifacts {
		if a != nil && a.Digest != "" {
			found(a.Digest)
		}
	}
}
