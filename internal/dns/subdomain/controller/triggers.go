// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// poolKey is the pool that a claim names.
func poolKey(c *yubav1.SubdomainClaim) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(c.Spec.PoolRef.Namespace, c.Namespace), Name: c.Spec.PoolRef.Name}
}

// comesOrGoes passes creations and deletions: pools count their claims.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }, GenericFunc: func(event.GenericEvent) bool { return false }}
}

// becomesReady passes a pool that can be used, and could not before.
func becomesReady() predicate.Predicate {
	ready := func(p *yubav1.SubdomainPool) bool {
		return conditions.Of(p, infrav1.ConditionReady).Status == metav1.ConditionTrue
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.(*yubav1.SubdomainPool), e.ObjectNew.(*yubav1.SubdomainPool) //nolint:forcetypeassert // of the kind that is watched
			return ready(is) && !ready(was)
		},
	}
}

// changesOutputs passes a stack that was applied, or writes its outputs elsewhere.
func changesOutputs() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*infrav1.Terraform), e.ObjectNew.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
		return conditions.Of(is, infrav1.ConditionReady) != conditions.Of(was, infrav1.ConditionReady)
	}})
}
