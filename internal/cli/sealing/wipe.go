// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// wiped is a Secret that was deleted.
type wiped struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Gone: the API answers that it does not exist.
	Gone bool `json:"gone"`
	// ReferencedBy are the objects that name it.
	ReferencedBy []string `json:"referencedBy,omitempty"`

	uid types.UID
}

// findWiped reads the Secrets to delete, without their content, and who names them.
func findWiped(ctx context.Context, s *session.Session, names []string) ([]wiped, error) {
	var all []wiped
	for _, argument := range names {
		namespace, name, both := strings.Cut(argument, "/")
		if !both {
			namespace, name = s.Namespace, argument
		}
		if namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, ui.Exitf(ui.ExitUsage, "--wipe-credentials %q: want NAME or NAMESPACE/NAME", argument)
		}
		secret := metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := s.Objects.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
		if apierrors.IsNotFound(err) {
			return nil, ui.Exitf(ui.ExitNotFound, "wipe credentials: there is no Secret %s/%s", namespace, name)
		}
		if err != nil {
			return nil, fmt.Errorf("wipe credentials: read Secret %s/%s: %w", namespace, name, err)
		}
		if strings.HasPrefix(name, "tfstate-") {
			return nil, ui.Exitf(ui.ExitUsage, "wipe credentials: Secret %s/%s has the state of a stack, and is not a credential", namespace, name)
		}
		w := wiped{Namespace: namespace, Name: name, uid: secret.UID}
		if w.ReferencedBy, err = referringTo(ctx, s, w); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// referringTo lists the objects that name the Secret.
func referringTo(ctx context.Context, s *session.Session, w wiped) ([]string, error) {
	var names []string
	for _, kind := range namingKinds() {
		list, _, err := s.ListObjects(ctx, kind, w.Namespace)
		if apierrors.IsNotFound(err) {
			continue // this API does not serve the kind
		}
		if err != nil {
			return nil, fmt.Errorf("find what refers to Secret %s/%s: %w", w.Namespace, w.Name, err)
		}
		for _, o := range list {
			if referencesOf(o.Object).secrets[w.Name] {
				names = append(names, kind.GVK.Kind+" "+o.GetName())
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

func askToWipe(s *session.Session, o *options, secrets []wiped) error {
	if len(secrets) == 0 {
		return nil
	}
	var names []string
	for _, w := range secrets {
		names = append(names, w.Namespace+"/"+w.Name)
		for _, by := range w.ReferencedBy {
			s.News("%s refers to Secret %s/%s, and does not work without it.", by, w.Namespace, w.Name)
		}
	}
	return s.MustConfirm(o.yes, fmt.Sprintf("When the archive is written and verified, these Secrets are deleted: %s.", strings.Join(names, ", ")))
}

// wipe deletes the Secrets, and asks the API whether they are gone.
func wipe(ctx context.Context, s *session.Session, secrets []wiped) ([]wiped, error) {
	var left []error
	for i := range secrets {
		w := &secrets[i]
		if err := wipeOne(ctx, s, w); err != nil {
			left = append(left, fmt.Errorf("the archive is complete, but wiping Secret %s/%s failed: %w", w.Namespace, w.Name, err))
			continue
		}
		w.Gone = true
		s.News("Secret %s/%s is gone.", w.Namespace, w.Name)
		for _, by := range w.ReferencedBy {
			s.News("  %s still refers to it.", by)
		}
	}
	if len(secrets) > len(left) {
		s.News("Yuba's copies are not deleted: states and records of runs may contain the values, and so do backups and this archive. Revoke the credentials at their provider.")
	}
	return secrets, errors.Join(left...)
}

func wipeOne(ctx context.Context, s *session.Session, w *wiped) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	err := s.Objects.Delete(ctx, secret, client.Preconditions{UID: &w.uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	read := metav1.PartialObjectMetadata{}
	read.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err = s.Objects.Get(ctx, client.ObjectKeyFromObject(secret), &read)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("it was deleted, but the API does not say whether it is gone: %w", err)
	case read.DeletionTimestamp != nil:
		return fmt.Errorf("it is being deleted, and waits for its finalizers: %s", strings.Join(read.Finalizers, ", "))
	}
	return errors.New("somebody has created it again")
}
