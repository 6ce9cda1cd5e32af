// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fresh

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader reads objects. It is safe for concurrent use. On a nil Reader only Wrote may be called.
type Reader struct {
	cache, api client.Reader

	mu sync.Mutex
	// written are the versions that the cache lacked when it was last checked.
	written map[id]string
}

type id struct {
	kind string
	key  types.NamespacedName
}

// New returns a Reader of a cache and its API.
func New(cache, api client.Reader) *Reader {
	return &Reader{cache: cache, api: api, written: map[id]string{}}
}

// Wrote records an object as returned by a write.
func (r *Reader) Wrote(obj client.Object) {
	if r == nil || obj.GetResourceVersion() == "" {
		return
	}
	of, version := idOf(obj, client.ObjectKeyFromObject(obj)), obj.GetResourceVersion()
	r.mu.Lock()
	defer r.mu.Unlock()
	// With two concurrent writes, the first one may call Wrote last.
	if order, err := resourceversion.CompareResourceVersion(version, r.written[of]); err == nil && order < 0 {
		return
	}
	r.written[of] = version
}

// Get reads an object, from the cache unless it lacks a write of this process.
func (r *Reader) Get(ctx context.Context, key types.NamespacedName, obj client.Object) error {
	kind := obj.GetObjectKind().GroupVersionKind()
	err := r.cache.Get(ctx, key, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	version := ""
	if err == nil {
		version = obj.GetResourceVersion()
	}
	if r.current(idOf(obj, key), version) {
		return err
	}
	// Clear the object: decoding a response into it would keep fields that no longer exist.
	reflect.ValueOf(obj).Elem().SetZero()
	obj.GetObjectKind().SetGroupVersionKind(kind)
	if err = r.api.Get(ctx, key, obj); apierrors.IsNotFound(err) {
		r.forget(idOf(obj, key))
	}
	return err
}

// current reports whether a version, empty for none, is at least the last written one. If so, it
// forgets the latter.
func (r *Reader) current(of id, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	written, ok := r.written[of]
	if !ok {
		return true
	}
	if order, err := resourceversion.CompareResourceVersion(version, written); err != nil || order < 0 {
		return false
	}
	delete(r.written, of)
	return true
}

func (r *Reader) forget(of id) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, of)
}

func idOf(obj client.Object, key types.NamespacedName) id { return id{fmt.Sprintf("%T", obj), key} }
