// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: "yuba.dev", Version: "v1alpha1"}

	// SchemeBuilder collects what [AddToScheme] adds.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CircuitBreaker{}, &CircuitBreakerList{}, &ModuleSource{}, &ModuleSourceList{},
		&Policy{}, &PolicyList{}, &ClusterPolicy{}, &ClusterPolicyList{}, &Contract{}, &ContractList{},
		&ContractBridge{}, &ContractBridgeList{}, &PullRequestPlanner{}, &PullRequestPlannerList{}, &FailoverRecord{}, &FailoverRecordList{},
		&SubdomainPool{}, &SubdomainPoolList{}, &SubdomainClaim{}, &SubdomainClaimList{}, &Platform{}, &PlatformList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
