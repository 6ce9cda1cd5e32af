// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	// The kinds that the generic control plane serves or refers to.
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// servedGroups returns the groups that the API serves besides CRDs. It leaves out groups that
// nothing acts on here: each kind costs memory and an etcd connection.
func servedGroups() *serverstorage.ResourceConfig {
	config := serverstorage.NewResourceConfig()
	config.EnableVersions(
		corev1.SchemeGroupVersion,
		admissionregistrationv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
	)
	return config
}

// admissionOff returns the admission plugins that have nothing to do here.
func admissionOff() sets.Set[string] {
	on := sets.New(
		lifecycle.PluginName,
		mutatingadmissionpolicy.PluginName,
		mutatingwebhook.PluginName,
		validatingadmissionpolicy.PluginName,
		validatingwebhook.PluginName,
		resourcequota.PluginName,
	)
	return sets.New(kubeoptions.AllOrderedPlugins...).Difference(on)
}

// setFeatures disables features for running several API servers side by side. For a single server
// they only cost a disk write every ten seconds. Feature gates are global to the process.
var setFeatures = sync.OnceValue(func() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"APIServerIdentity":                   false,
		"UnknownVersionInteroperabilityProxy": false,
	})
})
