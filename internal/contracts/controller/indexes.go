// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// The indexes of stacks: by the producers that they consume from, and by the contracts that they
// publish or consume, each as NAMESPACE/NAME.
const (
	indexProducers = "yuba.contracts.producers"
	indexPublished = "yuba.contracts.published"
	indexConsumed  = "yuba.contracts.consumed"
)

// AddIndexes adds the indexes of stacks to a cache. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for index, keys := range map[string]func(*infrav1.Terraform) []string{
		indexProducers: producersOf, indexPublished: publishedBy, indexConsumed: consumedBy,
	} {
		err := indexer.IndexField(ctx, &infrav1.Terraform{}, index, func(o client.Object) []string { return keys(o.(*infrav1.Terraform)) })
		if err != nil {
			return fmt.Errorf("index stacks by their contracts: %w", err)
		}
	}
	return nil
}

// producersOf names the stacks that one consumes from, each once.
func producersOf(t *infrav1.Terraform) []string {
	var names []string
	for _, c := range t.Spec.Consumes {
		names = append(names, t.ConsumesFrom(c))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// publishedBy names the contracts that a stack publishes, or has published.
func publishedBy(t *infrav1.Terraform) []string {
	var names []string
	for _, name := range contractsOf(t) {
		names = append(names, t.Namespace+"/"+name)
	}
	return names
}

// contractsOf names the contracts that a stack publishes, or has published, sorted.
func contractsOf(t *infrav1.Terraform) []string {
	var names []string
	for _, p := range t.Spec.Publishes {
		names = append(names, p.Contract)
	}
	for _, r := range published(t) {
		names = append(names, r.Contract)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func published(t *infrav1.Terraform) []infrav1.PublishedRevision {
	if t.Status.Contracts == nil {
		return nil
	}
	return t.Status.Contracts.Published
}

func consumedBy(t *infrav1.Terraform) []string {
	var names []string
	for _, c := range t.Spec.Consumes {
		names = append(names, contractOf(t, c).String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// contractOf names the contract of a consumption: it is in the namespace of the producer.
func contractOf(t *infrav1.Terraform, c infrav1.Consumption) types.NamespacedName {
	return types.NamespacedName{Namespace: producerOf(t, c).Namespace, Name: c.Contract}
}

func producerOf(t *infrav1.Terraform, c infrav1.Consumption) types.NamespacedName {
	name := types.NamespacedName{Namespace: c.From.Namespace, Name: c.From.Name}
	if name.Namespace == "" {
		name.Namespace = t.Namespace
	}
	return name
}

// indexed lists stacks from an index of the cache. They must not be changed.
func (b *Book) indexed(ctx context.Context, index, key string) ([]infrav1.Terraform, error) {
	var list infrav1.TerraformList
	if err := b.Cache.List(ctx, &list, client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find the stacks that publish or consume %s: %w", key, err)
	}
	return list.Items, nil
}
