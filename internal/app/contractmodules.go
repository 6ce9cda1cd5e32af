// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/archive"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/publishmodule"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// contractModules makes the registry's modules of contracts. There are none before it knows the book: the
// registry is opened first, and an API may not serve the kind.
type contractModules struct {
	book atomic.Pointer[contracts.Book]
}

var _ gateway.Contracts = (*contractModules)(nil)

func objectName(c gateway.ContractName) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// Grants implements [gateway.Contracts].
func (m *contractModules) Grants(ctx context.Context, c gateway.ContractName, namespace string) (bool, error) {
	book := m.book.Load()
	if book == nil {
		return false, nil
	}
	return book.Grants(ctx, objectName(c), namespace)
}

func (m *contractModules) editions(ctx context.Context, c gateway.ContractName) (all []publishmodule.Edition, err error) {
	if book := m.book.Load(); book != nil {
		if all, err = book.Editions(ctx, objectName(c)); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the Contract %s does not exist, or has no version yet", catalog.ErrNone, objectName(c))
	}
	return all, nil
}

// Versions implements [gateway.Contracts].
func (m *contractModules) Versions(ctx context.Context, c gateway.ContractName) (versions []string, err error) {
	all, err := m.editions(ctx, c)
	for _, e := range all {
		versions = append(versions, e.Version)
	}
	return versions, err
}

// Archive implements [gateway.Contracts].
func (m *contractModules) Archive(ctx context.Context, c gateway.ContractName, version string) (offer.File, error) {
	all, err := m.editions(ctx, c)
	if err != nil {
		return offer.File{}, err
	}
	i := slices.IndexFunc(all, func(e publishmodule.Edition) bool { return e.Version == version })
	if i < 0 {
		return offer.File{}, fmt.Errorf("%w: the Contract %s has no version %s", catalog.ErrNone, objectName(c), version)
	}
	var packed bytes.Buffer
	digest, err := archive.PackInline(all[i].Files(), &packed)
	if err != nil {
		return offer.File{}, fmt.Errorf("make the module of contract %s %s: %w", objectName(c), version, err)
	}
	return offer.File{Content: readSeekCloser{bytes.NewReader(packed.Bytes())}, Size: int64(packed.Len()), Digest: digest}, nil
}

// readSeekCloser is a reader in memory.
type readSeekCloser struct{ io.ReadSeeker }

// Close implements io.Closer.
func (readSeekCloser) Close() error { return nil }
