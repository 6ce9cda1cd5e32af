// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PullRequestPlannerKind is the name of the kind.
const PullRequestPlannerKind = "PullRequestPlanner"

// PullRequestPlanner plans what pull requests would do to the stacks that follow their repository, and
// shows it where the code is reviewed: as a commit status and one comment. The plans cannot be applied.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=prplanner
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Open",type="integer",JSONPath=".status.open",description="How many pull requests are open."
// +kubebuilder:printcolumn:name="Planning",type="integer",JSONPath=".status.planning",description="How many of them have plans that have not ended."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the pull requests are known."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type PullRequestPlanner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The pull requests to plan, and the connection to their forge.
	Spec PullRequestPlannerSpec `json:"spec"`

	// The observed pull requests. The server writes it.
	// +optional
	Status PullRequestPlannerStatus `json:"status,omitempty,omitzero"`
}

// PullRequestPlannerSpec is the desired state of a planner.
type PullRequestPlannerSpec struct {
	// How often to ask the forge for its pull requests. With webhooks the forge is asked hourly at most,
	// in case one was lost.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:default:="1m"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// Whether to stop planning. Comments and statuses stay as they are.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// The GitRepositories of this namespace whose pull requests to plan. The default is all of those that
	// sourceSelector selects.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Sources []string `json:"sources,omitempty"`

	// The labels of the GitRepositories, if they are not named. The default is all of the namespace.
	// +optional
	SourceSelector *metav1.LabelSelector `json:"sourceSelector,omitempty"`

	// The stacks to plan, by their labels. The default is all that follow one of the GitRepositories.
	// +optional
	StackSelector *metav1.LabelSelector `json:"stackSelector,omitempty"`

	// The stacks to plan, by name, and with them the GitRepositories that they follow instead of the sources
	// above. An entry without a name means all stacks of its namespace. Stacks of other namespaces need a
	// server that allows references across namespaces.
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	Stacks []PullRequestStackReference `json:"stacks,omitempty"`

	// How to reach the server that hosts the repositories and their pull requests.
	Forge PullRequestForge `json:"forge"`

	// The pull requests to plan: target branches, labels, forks and drafts.
	// +optional
	Rules PullRequestRules `json:"rules,omitempty,omitzero"`

	// Whether plans may start programs that a pull request's code names. "Refuse" does not plan such code: external
	// data sources, provisioners, credential helpers of providers, and modules and providers that the base does not
	// have. "Allow" plans it all the same, with the stacks' credentials.
	// +kubebuilder:validation:Enum=Refuse;Allow
	// +kubebuilder:default:=Refuse
	// +optional
	Programs string `json:"programs,omitempty"`

	// What follows in the stacks behind those that a pull request changes.
	// +optional
	Impact PullRequestImpactSpec `json:"impact,omitempty,omitzero"`

	// The comments and statuses at the forge.
	// +optional
	Feedback PullRequestFeedback `json:"feedback,omitempty,omitzero"`

	// The approval of plans after a merge.
	// +optional
	Merge PullRequestMerge `json:"merge,omitempty,omitzero"`

	// When plans are applied, and what a pull request needs before that.
	// +optional
	Apply PullRequestApply `json:"apply,omitempty,omitzero"`

	// What an approval needs, beside a member other than the author: for "/yuba apply", and for
	// merge.approveReviewed.
	// +optional
	Approvals PullRequestApprovals `json:"approvals,omitempty,omitzero"`

	// The credentials of the plans, if they are not those of the stacks.
	// +optional
	Plans *PullRequestPlans `json:"plans,omitempty"`

	// The webhooks of the forge. Without, it is asked at each interval.
	// +optional
	Webhook *PullRequestWebhook `json:"webhook,omitempty"`
}

// PullRequestStackReference names a stack, or all stacks of a namespace.
type PullRequestStackReference struct {
	// The namespace. The default is that of the planner.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// The name of the stack. The default is all stacks of the namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
}

// AnnotationPlanPullRequest names a pull request, SOURCE#NUMBER or NUMBER, whose plans are made again when a
// reconciliation is requested.
const AnnotationPlanPullRequest = "yuba.dev/plan-pull-request"

// The values of spec.programs.
const (
	ProgramsRefuse = "Refuse"
	ProgramsAllow  = "Allow"
)

// PullRequestForge says how to reach a forge.
type PullRequestForge struct {
	// The kind of server. Forgejo has the interface of Gitea. The default is found out by the address of the repository, for
	// github.com, gitlab.com, bitbucket.org, dev.azure.com, gitea.com and codeberg.org.
	// +kubebuilder:validation:Enum=gitea;github;gitlab;bitbucket;bitbucketserver;azuredevops
	// +optional
	Type string `json:"type,omitempty"`

	// The address of the server's API, if it is not the usual one at the host of the repository.
	// +kubebuilder:validation:Pattern=`^https?://.+$`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Address string `json:"address,omitempty"`

	// The Secret with the credentials: token, and username where the forge wants one; or those of a
	// GitHub App: githubAppID, githubAppInstallationID and githubAppPrivateKey.
	SecretRef meta.LocalObjectReference `json:"secretRef"`

	// The Secret with the certificate authority of the server, in ca.crt.
	// +optional
	CertSecretRef *meta.LocalObjectReference `json:"certSecretRef,omitempty"`
}

// PullRequestRules say which pull requests are planned.
type PullRequestRules struct {
	// The branches that pull requests are to be merged into, as patterns such as release-*. The default is
	// the branch of the GitRepository, or else the default branch of the repository.
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	// +optional
	Branches []string `json:"branches,omitempty"`

	// The labels that a pull request must have, all of them.
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	// +optional
	Labels []string `json:"labels,omitempty"`

	// Whether to plan pull requests from forks. "Member" waits until somebody who may write to the
	// repository comments "/yuba plan --commit COMMIT" for the present commit; "Never" does not plan them.
	// +kubebuilder:validation:Enum=Member;Never
	// +kubebuilder:default:=Member
	// +optional
	Forks string `json:"forks,omitempty"`

	// Whether to leave out drafts.
	// +optional
	IgnoreDrafts bool `json:"ignoreDrafts,omitempty"`
}

// The values of spec.rules.forks.
const (
	ForksMember = "Member"
	ForksNever  = "Never"
)

// PullRequestImpactSpec says what is shown of the stacks that read what a pull request changes, by contracts and by
// Secrets with outputs.
type PullRequestImpactSpec struct {
	// When to show the stacks behind. "Breaking" compares what they read with the planned outputs, without planning
	// them, and shows those whose contract breaks; the others are only named. "Always" plans them, too, with the planned
	// values in place of the published ones, and shows the plans: with their credentials. "Never" shows nothing, unless
	// somebody comments "/yuba impact".
	// +kubebuilder:validation:Enum=Breaking;Always;Never
	// +kubebuilder:default:=Breaking
	// +optional
	When string `json:"when,omitempty"`

	// How many levels of stacks to show: 1 are those that read from a changed stack.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	// +kubebuilder:default:=3
	// +optional
	Levels int32 `json:"levels,omitempty"`
}

// The values of spec.impact.when.
const (
	ImpactBreaking = "Breaking"
	ImpactAlways   = "Always"
	ImpactNever    = "Never"
)

// PullRequestFeedback says what is shown at the forge.
type PullRequestFeedback struct {
	// The name of the commit status. Planners of one repository need different names.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9 ._/-]*$`
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:default:=yuba
	// +optional
	Status string `json:"status,omitempty"`

	// The label of the stacks whose value is their environment. Each environment then has a commit status of its own beside
	// that of all stacks: the name of the status, a slash, and the value. It is set for each pull request, also for one that
	// changes no stack of the environment, so that a forge can require it.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:MaxLength=317
	// +optional
	EnvironmentLabel string `json:"environmentLabel,omitempty"`

	// The name of the environment in the title of the comment, such as production.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Environment string `json:"environment,omitempty"`

	// Whether to write no comment, only the status.
	// +optional
	NoComment bool `json:"noComment,omitempty"`

	// The address of Yuba's web page, for links.
	// +kubebuilder:validation:Pattern=`^https?://.+$`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	PageURL string `json:"pageURL,omitempty"`
}

// PullRequestMerge says what happens after a merge.
type PullRequestMerge struct {
	// Whether the review of a pull request approves the plans of its merge commit: those with exactly the changes that
	// the comment had completely before the review, of equal files. Other plans wait, and the comment says so.
	// +optional
	ApproveReviewed bool `json:"approveReviewed,omitempty"`
}

// PullRequestApply says when the plans of pull requests are applied.
type PullRequestApply struct {
	// When plans are applied. "AfterMerge": the stacks follow their branch. "BeforeMerge": the command
	// "/yuba apply" applies the reviewed plans of an open pull request, and its stacks run exactly that
	// commit until the merge, "/yuba unlock", or the end of the pull request.
	// +kubebuilder:validation:Enum=AfterMerge;BeforeMerge
	// +kubebuilder:default:=AfterMerge
	// +optional
	When string `json:"when,omitempty"`

	// What "/yuba apply" requires, beside plans that have ended. "Approved": an approval, and nobody asks for
	// changes. "Undiverged": the stacks' files are those that a merge would make. An empty list requires
	// neither.
	// +kubebuilder:default:={Approved,Undiverged}
	// +kubebuilder:validation:items:Enum=Approved;Undiverged
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	Requirements []string `json:"requirements"`

	// The name of the commit status that is pending until all plans are applied, for the forge's protection of
	// branches. The default is feedback.status with "/apply".
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9 ._/-]*$`
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Status string `json:"status,omitempty"`
}

// The values of spec.apply.
const (
	ApplyAfterMerge  = "AfterMerge"
	ApplyBeforeMerge = "BeforeMerge"

	RequireApproved   = "Approved"
	RequireUndiverged = "Undiverged"
)

// PullRequestApprovals says what an approval needs.
type PullRequestApprovals struct {
	// Whether each stack needs an approval of an owner of its changed files, as the file CODEOWNERS of the target
	// branch says. Files without an owner need none. Teams and e-mail addresses cannot be resolved: name users.
	// +optional
	CodeOwners bool `json:"codeOwners,omitempty"`
}

// PullRequestPlans are the credentials of plans, to be found in the namespace of each stack. With any of them,
// the stack's own are left out: its service account, environment variables from Secrets, and files in the home
// directory.
type PullRequestPlans struct {
	// The ServiceAccount for cloud identities, and for runner Pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The Secrets whose keys become environment variables, such as those of a role that may only read.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	SecretRefs []meta.LocalObjectReference `json:"secretRefs,omitempty"`
}

// PullRequestWebhook are the webhooks of a forge.
type PullRequestWebhook struct {
	// The Secret with the secret of the webhook, in token. The forge signs with it, or sends it.
	SecretRef meta.LocalObjectReference `json:"secretRef"`
}

// PullRequestPlannerList is a list of planners.
//
// +kubebuilder:object:root=true
type PullRequestPlannerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PullRequestPlanner `json:"items"`
}

// GetConditions returns the conditions.
func (p *PullRequestPlanner) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions.
func (p *PullRequestPlanner) SetConditions(c []metav1.Condition) { p.Status.Conditions = c }
