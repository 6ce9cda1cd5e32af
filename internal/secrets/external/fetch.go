// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external/compose"
	"github.com/yuba-dev/yuba/internal/secrets/external/decide"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
)

// patience bounds a refresh and the check of a store: a store that answers slowly or endlessly must not hold a worker.
const patience = 2 * time.Minute

// errLate means that a refresh did not end in time.
var errLate = errors.New("a refresh may last")

// refreshInTime is refresh to a deadline.
func (r *Reconciler) refreshInTime(ctx context.Context, es *externalv1.ExternalSecret, target *corev1.Secret) (decide.Act, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Patience, patience))
	defer cancel()
	act, err := r.refresh(ctx, es, target)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w (%w %s)", err, errLate, cmp.Or(r.Patience, patience))
	}
	return act, err
}

// refresh reads the secrets and writes the target.
func (r *Reconciler) refresh(ctx context.Context, es *externalv1.ExternalSecret, target *corev1.Secret) (decide.Act, error) {
	if len(es.Spec.Data) == 0 && len(es.Spec.DataFrom) == 0 {
		return decide.Act{}, problem("spec.data and spec.dataFrom are empty: name at least one secret")
	}
	b := &batch{r: r, es: es, language: compose.NewLanguage(), open: map[externalv1.SecretStoreRef]remote.Store{}, data: map[string][]byte{}}
	if err := b.read(ctx); err != nil {
		return decide.Act{}, err
	}
	return r.act(ctx, es, target, b.found, func() (*compose.Content, error) {
		loaded, err := r.load(ctx, es)
		if err != nil {
			return nil, err
		}
		c, err := compose.Render(b.language, es.Spec.Target.Template, loaded, b.data)
		if err != nil {
			return nil, problem("spec.target.template: %v", err)
		}
		return c, nil
	})
}

// batch is the reading of one refresh. Each store is opened once.
type batch struct {
	r    *Reconciler
	es   *externalv1.ExternalSecret
	open map[externalv1.SecretStoreRef]remote.Store
	data map[string][]byte
	// language is that of all templates.
	language compose.Language
	// size is the number of bytes of data.
	size int
	// found: at least one secret exists.
	found bool
}

func (b *batch) read(ctx context.Context) error {
	for i := range b.es.Spec.DataFrom {
		if err := b.settle(fmt.Sprintf("spec.dataFrom[%d]", i), b.group(ctx, &b.es.Spec.DataFrom[i])); err != nil {
			return err
		}
	}
	for i := range b.es.Spec.Data {
		d := &b.es.Spec.Data[i]
		if err := b.settle(fmt.Sprintf("spec.data[%d] (%s)", i, d.SecretKey), b.single(ctx, d)); err != nil {
			return err
		}
	}
	return nil
}

// keep adds values to the batch.
func (b *batch) keep(values map[string][]byte) error {
	for key, value := range values {
		b.size += len(key) + len(value) - len(b.data[key])
		b.data[key] = value
	}
	if b.size > remote.MaxTotal {
		return fmt.Errorf("the secrets have more than %d bytes together. Read fewer: a Secret has %d at most", remote.MaxTotal, corev1.MaxSecretSize)
	}
	return nil
}

// settle leaves out what the store lacks, if the deletion policy says so.
func (b *batch) settle(where string, err error) error {
	var missing *remote.MissingError
	switch {
	case err == nil:
		b.found = true
	case errors.As(err, &missing) && b.es.Spec.Target.DeletionPolicy != externalv1.DeleteRetain && b.es.Spec.Target.DeletionPolicy != "":
	default:
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

func (b *batch) store(ctx context.Context, ref externalv1.SecretStoreRef) (remote.Store, error) {
	if ref.Name == "" {
		return nil, problem("no store is named: set spec.secretStoreRef")
	}
	if s := b.open[ref]; s != nil {
		return s, nil
	}
	s, err := b.r.storeFor(ctx, b.es.Namespace, ref)
	if err == nil {
		b.open[ref] = s
	}
	return s, err
}

func (b *batch) single(ctx context.Context, d *externalv1.ExternalSecretData) error {
	ref := b.es.Spec.SecretStoreRef
	if s := d.SourceRef; s != nil {
		if s.GeneratorRef != nil {
			return errGenerator()
		}
		ref = s.SecretStoreRef
	}
	value, err := b.get(ctx, ref, &d.RemoteRef)
	if err != nil {
		return err
	}
	if value, err = compose.Decode(d.RemoteRef.DecodingStrategy, value); err != nil {
		return err
	}
	return b.keep(map[string][]byte{d.SecretKey: value})
}

func errGenerator() error {
	return problem("generatorRef is not supported: make the secret with `yuba secrets init`, and name its store")
}

// get reads one secret, or a property of it.
func (b *batch) get(ctx context.Context, ref externalv1.SecretStoreRef, from *externalv1.ExternalSecretDataRemoteRef) ([]byte, error) {
	if from.MetadataPolicy == "Fetch" {
		return nil, problem("metadataPolicy Fetch is not supported: only values are read")
	}
	s, err := b.store(ctx, ref)
	if err != nil {
		return nil, err
	}
	value, err := s.Get(ctx, from.Key, from.Version)
	if err != nil || from.Property == "" {
		return value, err
	}
	value, err = compose.Property(value, from.Property)
	if err != nil {
		return nil, fmt.Errorf("secret %q: %w", from.Key, err)
	}
	return value, nil
}

// group reads several keys.
func (b *batch) group(ctx context.Context, d *externalv1.ExternalSecretDataFromRemoteRef) error {
	ref := b.es.Spec.SecretStoreRef
	if s := d.SourceRef; s != nil {
		if s.GeneratorRef != nil {
			return errGenerator()
		}
		ref = *s.SecretStoreRef
	}
	var found map[string][]byte
	var conversion, decoding string
	var err error
	switch {
	case d.Extract != nil && d.Find != nil, d.Extract == nil && d.Find == nil:
		return problem("exactly one of extract and find is needed")
	case d.Extract != nil:
		conversion, decoding = d.Extract.ConversionStrategy, d.Extract.DecodingStrategy
		var value []byte
		if value, err = b.get(ctx, ref, d.Extract); err == nil {
			found, err = compose.Extract(value)
		}
	default:
		conversion, decoding = d.Find.ConversionStrategy, d.Find.DecodingStrategy
		found, err = b.find(ctx, ref, d.Find)
	}
	if err == nil {
		if len(d.Rewrite) > 0 {
			found, err = compose.Rewrite(b.language, d.Rewrite, found)
		} else {
			found, err = compose.Convert(conversion, found)
		}
	}
	if err == nil {
		err = compose.Check(found)
	}
	if err == nil {
		found, err = compose.DecodeAll(decoding, found)
	}
	if err != nil {
		return err
	}
	return b.keep(found)
}

func (b *batch) find(ctx context.Context, ref externalv1.SecretStoreRef, f *externalv1.ExternalSecretFind) (map[string][]byte, error) {
	s, err := b.store(ctx, ref)
	if err != nil {
		return nil, err
	}
	q := remote.Query{Tags: f.Tags}
	if f.Path != nil {
		q.Path = *f.Path
	}
	if f.Name != nil && f.Name.RegExp != "" {
		if q.Name, err = regexp.Compile(f.Name.RegExp); err != nil {
			return nil, problem("find.name.regexp is not a regular expression: %v", err)
		}
	}
	found, err := s.Find(ctx, q)
	if err == nil && len(found) == 0 {
		err = &remote.MissingError{Store: s.Name(), Key: "of this find"}
	}
	return found, err
}

// load reads the objects with templates.
func (r *Reconciler) load(ctx context.Context, es *externalv1.ExternalSecret) ([]compose.Loaded, error) {
	if es.Spec.Target.Template == nil {
		return nil, nil
	}
	var all []compose.Loaded
	for i, from := range es.Spec.Target.Template.TemplateFrom {
		loaded := compose.Loaded{}
		if ref := from.ConfigMap; ref != nil {
			var c corev1.ConfigMap
			err := r.Direct.Get(ctx, types.NamespacedName{Namespace: es.Namespace, Name: ref.Name}, &c)
			if apierrors.IsNotFound(err) {
				return nil, problem("spec.target.template.templateFrom[%d]: the ConfigMap %s does not exist", i, ref.Name)
			}
			if err != nil {
				return nil, fmt.Errorf("read ConfigMap %s/%s: %w", es.Namespace, ref.Name, err)
			}
			maps.Copy(loaded, c.Data)
		}
		if ref := from.Secret; ref != nil {
			s, err := r.secret(ctx, types.NamespacedName{Namespace: es.Namespace, Name: ref.Name})
			if err != nil {
				return nil, err
			}
			if s == nil {
				return nil, problem("spec.target.template.templateFrom[%d]: the Secret %s does not exist", i, ref.Name)
			}
			for key, value := range s.Data {
				loaded[key] = string(value)
			}
		}
		all = append(all, loaded)
	}
	return all, nil
}
