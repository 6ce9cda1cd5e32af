// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// bookmarked sends bookmarks to watchers, as the watch cache does. etcd compacts old revisions
// within minutes: without bookmarks, clients would list idle kinds again after each reconnect.
type bookmarked struct{ generic.RESTOptionsGetter }

// GetRESTOptions implements generic.RESTOptionsGetter.
func (b bookmarked) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o, err := b.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return o, err
	}
	decorate := o.Decorator
	o.Decorator = func(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
		newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		s, destroy, err := decorate(config, prefix, key, newObject, newList, attributes, triggers, indexers)
		if err != nil {
			return nil, nil, err
		}
		return bookmarkedStorage{s}, destroy, nil
	}
	return o, nil
}

type bookmarkedStorage struct{ storage.Interface }

// Watch implements storage.Interface.
func (s bookmarkedStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	opts.ProgressNotify = opts.ProgressNotify || opts.Predicate.AllowWatchBookmarks
	return s.Interface.Watch(ctx, key, opts)
}
