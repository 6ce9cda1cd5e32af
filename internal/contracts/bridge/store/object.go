// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"

	"maps"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is a ConfigMap or a Secret.
type Object struct {
	// Client reads the API, not a cache: what is overwritten must be what was read.
	Client client.Client
	// Where says in which cluster, if not in this one.
	Where     string
	Namespace string
	// ObjectName and Key say where the document is.
	ObjectName, Key string
	// Secret selects the kind.
	Secret bool
	// Attributes also writes each attribute of the document under its name.
	Attributes bool
	// Reload marks the object for Reloader.
	Reload bool
	// Labels are set on the object.
	Labels map[string]string
}

// annotationReload is Reloader's: workloads annotated with reloader.stakater.com/search are restarted
// when an object with it changes.
const annotationReload = "reloader.stakater.com/match"

// Name implements [Store].
func (o *Object) Name() string {
	kind := "configmap "
	if o.Secret {
		kind = "secret "
	}
	return kind + o.Namespace + "/" + o.ObjectName + o.Where
}

// Read implements [Store]. If the other keys are not what the document says, somebody changed them: the
// content is the whole data then, which equals no document.
func (o *Object) Read(ctx context.Context) (Document, error) {
	data, meta, err := o.get(ctx)
	if err != nil || meta == nil {
		return Document{}, err
	}
	tag := string(meta.UID) + "/" + meta.ResourceVersion
	content, ok := data[o.Key]
	if !ok && len(data) == 0 {
		return Document{nil, tag}, nil
	}
	if want, err := o.render(content); !ok || o.Attributes && (err != nil || !maps.Equal(want, data)) {
		all, err := json.Marshal(map[string]any{"data": data})
		return Document{all, tag}, err
	}
	return Document{[]byte(content), tag}, nil
}

func (o *Object) get(ctx context.Context) (map[string]string, *metav1.ObjectMeta, error) {
	name := types.NamespacedName{Namespace: o.Namespace, Name: o.ObjectName}
	var err error
	if o.Secret {
		var s corev1.Secret
		if err = o.Client.Get(ctx, name, &s); err == nil {
			data := map[string]string{}
			for key, value := range s.Data {
				data[key] = string(value)
			}
			return data, &s.ObjectMeta, nil
		}
	} else {
		var c corev1.ConfigMap
		if err = o.Client.Get(ctx, name, &c); err == nil {
			return c.Data, &c.ObjectMeta, nil
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	return nil, nil, failed("read", o.Name(), err)
}

var attributeRE = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,253}$`)

// render returns the data of the object for a document.
func (o *Object) render(content string) (map[string]string, error) {
	data := map[string]string{o.Key: content}
	if !o.Attributes {
		return data, nil
	}
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal([]byte(content), &attributes); err != nil {
		return nil, refused("the document is not an object, so it has no attributes to write as keys")
	}
	for name, value := range attributes {
		if !attributeRE.MatchString(name) || name == o.Key {
			return nil, refused("the attribute %q cannot be a key of %s", name, o.Name())
		}
		var text string
		switch {
		case json.Unmarshal(value, &text) == nil && string(value) != "null":
			data[name] = text
		case string(value) != "null":
			data[name] = string(value)
		}
	}
	return data, nil
}

// Write implements [Store].
func (o *Object) Write(ctx context.Context, content []byte, over string) error {
	data, err := o.render(string(content))
	if err != nil {
		return failed("write", o.Name(), err)
	}
	meta := metav1.ObjectMeta{}
	if over != "" {
		_, now, err := o.get(ctx)
		if err != nil {
			return err
		}
		if now == nil || string(now.UID)+"/"+now.ResourceVersion != over {
			return failed("write", o.Name(), ErrMoved)
		}
		meta = metav1.ObjectMeta{Labels: now.Labels, Annotations: now.Annotations, ResourceVersion: now.ResourceVersion, UID: now.UID,
			OwnerReferences: now.OwnerReferences, Finalizers: now.Finalizers}
	}
	meta.Namespace, meta.Name = o.Namespace, o.ObjectName
	meta.Labels = merged(meta.Labels, o.Labels)
	if o.Reload {
		meta.Annotations = merged(meta.Annotations, map[string]string{annotationReload: "true"})
	}
	var obj client.Object = &corev1.ConfigMap{ObjectMeta: meta, Data: data}
	if o.Secret {
		bytes := map[string][]byte{}
		for key, value := range data {
			bytes[key] = []byte(value)
		}
		obj = &corev1.Secret{ObjectMeta: meta, Data: bytes}
	}
	if over == "" {
		err = o.Client.Create(ctx, obj)
	} else {
		err = o.Client.Update(ctx, obj)
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && over != "":
		err = ErrMoved
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		err = refused("%v", err)
	}
	if err != nil {
		return failed("write", o.Name(), err)
	}
	return nil
}

// Delete implements [Store].
func (o *Object) Delete(ctx context.Context, tag string) error {
	_, meta, err := o.get(ctx)
	if err != nil || meta == nil {
		return err
	}
	if tag != string(meta.UID)+"/"+meta.ResourceVersion {
		return failed("remove", o.Name(), ErrMoved)
	}
	var obj client.Object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.ObjectName}}
	if o.Secret {
		obj = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.ObjectName}}
	}
	err = o.Client.Delete(ctx, obj, client.Preconditions{UID: &meta.UID, ResourceVersion: &meta.ResourceVersion})
	if apierrors.IsConflict(err) {
		err = ErrMoved
	}
	if client.IgnoreNotFound(err) != nil {
		return failed("remove", o.Name(), err)
	}
	return nil
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

var _ = []Store{&SSM{}, &S3{}, &Vault{}, &Object{}}
