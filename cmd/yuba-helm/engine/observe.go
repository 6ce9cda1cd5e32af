// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// stored returns the stored versions of the release, the last one first, and the objects of that one.
func (o *operation) stored() ([]wire.Stored, []wire.Object, error) {
	history, err := o.config.Releases.History(o.call.Release.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the stored release: %w", err)
	}
	var list []*releasev1.Release
	for _, one := range history {
		if r, ok := one.(*releasev1.Release); ok && r.Info != nil {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(list, func(a, b *releasev1.Release) int { return cmp.Compare(b.Version, a.Version) })
	all := make([]wire.Stored, 0, len(list))
	for _, r := range list {
		one, err := store(r)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, one)
	}
	return all, o.objects(list[0]), nil
}

func store(r *releasev1.Release) (wire.Stored, error) {
	// What Helm itself changes later is not part of the digest: that a newer version superseded this one.
	var metadata *chartv2.Metadata
	if r.Chart != nil {
		metadata = r.Chart.Metadata
	}
	content, err := json.Marshal([]any{r.Name, r.Namespace, r.Version, r.Config, r.Manifest, metadata})
	if err != nil {
		return wire.Stored{}, fmt.Errorf("read the stored release: %w", err)
	}
	sum := sha256.Sum256(content)
	one := wire.Stored{Name: r.Name, Namespace: r.Namespace, Version: r.Version, Status: string(r.Info.Status), Digest: "sha256:" + hex.EncodeToString(sum[:]),
		ConfigDigest: digest(r.Config), FirstDeployed: r.Info.FirstDeployed, LastDeployed: r.Info.LastDeployed, Deleted: r.Info.Deleted, Description: r.Info.Description}
	if metadata != nil {
		one.ChartName, one.ChartVersion, one.AppVersion = metadata.Name, metadata.Version, metadata.AppVersion
	}
	for _, h := range r.Hooks {
		if !slices.Contains(h.Events, releasev1.HookTest) || h.LastRun.StartedAt.IsZero() {
			continue // a filter may leave tests out
		}
		if one.Tests == nil {
			one.Tests = map[string]wire.TestRun{}
		}
		one.Tests[h.Name] = wire.TestRun{Started: h.LastRun.StartedAt, Completed: h.LastRun.CompletedAt, Phase: string(h.LastRun.Phase)}
	}
	return one, nil
}

// objects lists the objects of a release, for the inventory. A manifest that cannot be read has none.
func (o *operation) objects(r *releasev1.Release) []wire.Object {
	decoded, err := decode([]byte(r.Manifest))
	if err != nil {
		return nil
	}
	var list []wire.Object
	for _, d := range decoded {
		gvk := d.GroupVersionKind()
		list = append(list, wire.Object{Namespace: o.namespaceOf(d), Name: d.GetName(), Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind})
	}
	return list
}
