// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
)

var fluxCalls = []otherCall{
	{"get all -A", "yuba get all -A", "Add --status-selector ready=false for those that are not ready."},
	{"get sources git NAME", "yuba get sources git NAME", "Likewise oci, bucket and external; \"yuba get gitrepositories\" does the same."},
	{"get kustomizations --watch", "yuba get kustomizations --watch", ""},
	{"get receivers", "yuba get receivers", "Likewise alerts and alert-providers."},
	{"get images all", "yuba get imagerepositories", "Likewise imagepolicies and imageupdateautomations."},
	{"reconcile image repository NAME", "yuba reconcile image-repository NAME", "Likewise image-policy and image-update."},
	{"suspend image update NAME", "yuba suspend image-update NAME", "Likewise image-repository and image-policy, and \"yuba resume\"."},
	{"create image repository NAME --image IMAGE", "", "Apply manifests of ImageRepository, ImagePolicy and ImageUpdateAutomation with \"yuba kubectl apply\"."},
	{"reconcile source git NAME", "yuba reconcile source git NAME", ""},
	{"reconcile kustomization NAME --with-source", "yuba reconcile kustomization NAME --with-source", ""},
	{"reconcile receiver NAME", "yuba reconcile receiver NAME", ""},
	{"suspend kustomization NAME", "yuba suspend kustomization NAME", "Likewise sources, receivers, alerts; --all is for all of the namespace."},
	{"resume source git NAME --wait", "yuba resume source git NAME", "\"yuba reconcile source git NAME\" waits."},
	{"delete kustomization NAME --silent", "yuba delete kustomization NAME --yes", "It waits until the Kustomization is gone and its objects are deleted, or being deleted."},
	{"create source git NAME --url URL --branch main", "yuba create source git NAME --url URL --branch main", "Likewise oci and bucket; --export writes the manifest instead."},
	{"create kustomization NAME --source KIND/NAME --path DIR --prune", "yuba create kustomization NAME --source KIND/NAME --path DIR --prune", ""},
	{"create secret git NAME --url URL --username USER --password PASSWORD", "yuba kubectl create secret generic NAME --from-literal username=USER --from-file password=FILE", ""},
	{"create secret oci NAME --url HOST --username USER --password PASSWORD", "yuba kubectl create secret docker-registry NAME --docker-server HOST --docker-username USER --docker-password PASSWORD", ""},
	{"create receiver NAME --type github --event push --secret-ref SECRET --resource KIND/NAME", "yuba create receiver NAME --type github --event push --secret-ref SECRET --resource KIND/NAME",
		"Likewise \"yuba create alert-provider NAME --type slack\" and \"yuba create alert NAME --provider-ref PROVIDER\"."},
	{"export kustomization NAME", "yuba get kustomizations NAME -o yaml", ""},
	{"tree kustomization NAME --compact", "yuba tree kustomization NAME --compact", "\"yuba tree\" shows everything in the namespace."},
	{"trace NAME --kind Terraform --api-version infra.contrib.fluxcd.io/v1alpha2", "yuba tree NAME", "It shows the path from the source to the stack."},
	{"events --for Kustomization/NAME", "yuba events --for kustomization/NAME", "\"yuba kubectl events --watch\" follows them."},
	{"logs --kind Kustomization --name NAME", "yuba events --for kustomization/NAME", "The server's own log is its standard error, such as: journalctl -u yuba"},
	{"stats -A", "yuba get all -A", ""},
	{"push artifact oci://HOST/REPOSITORY:TAG --path DIR --source URL --revision REVISION --reproducible", "yuba push artifact oci://HOST/REPOSITORY:TAG --path DIR --source URL --revision REVISION",
		"It is reproducible unless --reproducible=false; it omits .terraform and state files."},
	{"tag artifact oci://HOST/REPOSITORY:TAG --tag TAG", "yuba tag artifact oci://HOST/REPOSITORY:TAG --tag TAG", ""},
	{"pull artifact oci://HOST/REPOSITORY:TAG --output DIR", "yuba pull artifact oci://HOST/REPOSITORY:TAG --output DIR", "The directory must be empty; it is created if it does not exist."},
	{"list artifacts oci://HOST/REPOSITORY --filter-semver RANGE --filter-regex EXPRESSION", "yuba list artifacts oci://HOST/REPOSITORY --filter-semver RANGE --filter-regex EXPRESSION", ""},
	{"build kustomization NAME --path DIR", "yuba build kustomization NAME --path DIR", "Variables without a value are errors, as on the server, unless --strict-substitute=false."},
	{"diff kustomization NAME --path DIR", "yuba diff kustomization NAME --path DIR", "The exit codes are flux's."},
	{"build kustomization NAME --path DIR --kustomization-file FILE --dry-run", "yuba build kustomization NAME --path DIR --kustomization-file FILE --dry-run", ""},
	{"build artifact --path DIR", "", "\"yuba push artifact\" builds and pushes an artifact in one step."},
	{"check", "yuba version", "It reports whether the server answers."},
	{"version", "yuba version", ""},
	{"completion bash", "yuba completion bash", ""},
	{"bootstrap git --url URL --path DIR", "yuba create source git NAME --url URL", "Start \"yuba up\"; there is nothing to install. Then \"yuba create kustomization\" for the directory."},
	{"install", "", "There is nothing to install: \"yuba up\" includes sources, Kustomizations, receivers and alerts."},
	{"uninstall", "", "Stop the program. The objects and their resources stay."},
	{"get helmreleases", "yuba get helmreleases", "Likewise \"yuba get sources helm\" and \"yuba get sources chart\"."},
	{"reconcile helmrelease NAME", "yuba reconcile helmrelease NAME", ""},
	{"suspend helmrelease NAME", "yuba suspend helmrelease NAME", ""},
	{"delete helmrelease NAME --silent", "yuba delete helmrelease NAME --yes", "It waits until the release is uninstalled."},
}

func newFluxTopic() *cobra.Command {
	return newCallsTopic("flux", "the command line of Flux", fluxCalls,
		"The manifests are the same. Commands about stacks need no word for the kind: \"yuba reconcile NAME\". The default namespace is\n"+
			"that of the context, not flux-system.")
}
