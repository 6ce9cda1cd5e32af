// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// The list of no-iam. Types and attributes are those of hashicorp/aws 6, hashicorp/awscc 1,
// hashicorp/google 7 and google-beta, hashicorp/azurerm 4, azuread 3, Azure/azapi 2,
// hashicorp/kubernetes 2 and 3, hashicorp/helm 3 and gavinbunney/kubectl 1. Patterns cover types
// that later versions add. To extend it, add a row to the table, and a case to TestNoIAMKnows.

// iamTypes are types of which every change grants, takes or delegates access.
var iamTypes = patterns{
	// AWS: identities, and who may become them.
	"aws_iam_*", "aws_identitystore_*", "aws_ssoadmin_*", "aws_organizations_*", "aws_rolesanywhere_*", "aws_controltower_*",
	"aws_cognito_identity_pool_roles_attachment", "aws_cognito_identity_pool_provider_principal_tag", "aws_account_*",
	"aws_transfer_user", "aws_transfer_access", "aws_lightsail_bucket_access_key", "aws_lightsail_bucket_resource_access",
	// AWS: policies and permissions of resources.
	"aws_*_policy_attachment", "aws_*_resource_policy", "aws_*_access_policy", "aws_*_permission", "aws_*_permissions", "aws_*_permissions_policy",
	"aws_s3_bucket_policy", "aws_s3_bucket_acl", "aws_s3_bucket_public_access_block", "aws_s3_bucket_ownership_controls", "aws_s3_account_public_access_block",
	"aws_s3control_*_policy", "aws_s3control_access_grant*", "aws_s3_directory_bucket_policy", "aws_s3tables_*_policy", "aws_sqs_queue_policy", "aws_sqs_queue_redrive_allow_policy", "aws_sns_topic_policy", "aws_sns_topic_data_protection_policy",
	"aws_kms_grant", "aws_kms_key_policy", "aws_secretsmanager_secret_policy", "aws_ecr_repository_policy", "aws_ecr_registry_policy", "aws_ecrpublic_repository_policy",
	"aws_backup_vault_policy", "aws_cloudwatch_event_bus_policy", "aws_cloudwatch_log_destination_policy", "aws_cloudwatch_log_delivery_destination_policy",
	"aws_elasticsearch_domain_policy", "aws_opensearch_domain_policy", "aws_opensearchserverless_security_policy", "aws_efs_file_system_policy", "aws_glacier_vault_lock",
	"aws_iot_policy", "aws_iot_role_alias", "aws_media_store_container_policy", "aws_schemas_registry_policy", "aws_ses_identity_policy", "aws_sesv2_email_identity_policy",
	"aws_api_gateway_rest_api_policy", "aws_api_gateway_account", "aws_vpc_endpoint_policy", "aws_vpc_endpoint_service_allowed_principal", "aws_acmpca_policy", "aws_msk_cluster_policy",
	"aws_vpclattice_auth_policy", "aws_networkmanager_core_network_policy_attachment", "aws_lakeformation_*", "aws_ram_*", "aws_ec2_image_block_public_access", "aws_ebs_snapshot_block_public_access",
	"aws_ami_launch_permission", "aws_snapshot_create_volume_permission", "aws_redshift_endpoint_authorization", "aws_redshift_data_share_*", "aws_verifiedpermissions_*",
	// AWS: roles that services and clusters get.
	"aws_eks_access_*", "aws_eks_pod_identity_association", "aws_eks_identity_provider_config", "aws_*_role_association", "aws_redshift_cluster_iam_roles",
	"aws_quicksight_iam_policy_assignment", "aws_quicksight_role_membership", "aws_servicecatalog_*", "aws_emr_studio_session_mapping", "aws_grafana_role_association", "aws_grafana_workspace_service_account*",
	"aws_lambda_function_url", "aws_key_pair", "aws_ec2_instance_connect_endpoint",
	// AWS: anything, by templates that the plan does not show.
	"aws_cloudformation_*", "aws_cloudcontrolapi_resource", "aws_ssm_association", "aws_ssm_document", "aws_ssm_maintenance_window_task",
	"awscc_iam_*", "awscc_sso_*", "awscc_organizations_*", "awscc_identitystore_*", "awscc_rolesanywhere_*", "awscc_ram_*", "awscc_lakeformation_*", "awscc_cloudformation_*", "awscc_*_policy", "awscc_*_permission", "awscc_eks_access_entry", "awscc_eks_pod_identity_association",
	// Google: members, policies, accounts and keys.
	"google_*_iam_*", "google_iam_*", "google_service_account*", "google_project_default_service_accounts", "google_project_service_identity", "google_*organization_policy", "google_org_policy_*",
	"google_access_context_manager_*", "google_cloud_identity_*", "google_iap_*", "google_identity_platform_*", "google_privileged_access_manager_*", "google_apikeys_key",
	"google_storage_*acl", "google_storage_*access_control", "google_storage_hmac_key", "google_bigquery_dataset_access", "google_bigquery_*authorization*", "google_os_login_*",
	"google_compute_project_metadata*", "google_compute_shared_vpc_*", "google_gke_hub_*rbac*", "google_gke_hub_scope*", "google_sql_user",
	// Google: anything.
	"google_deployment_manager_deployment", "google_infra_manager_*", "google_folder_access_approval_settings",
	// Azure.
	"azurerm_role_*", "azurerm_pim_*", "azurerm_*_role_assignment", "azurerm_*_role_definition", "azurerm_user_assigned_identity", "azurerm_federated_identity_credential", "azurerm_key_vault_access_policy",
	"azurerm_*policy_assignment", "azurerm_policy_*", "azurerm_*policy_exemption", "azurerm_lighthouse_*", "azurerm_management_group*", "azurerm_management_lock", "azurerm_blueprint_assignment", "azurerm_*_authorization_rule",
	"azurerm_*_local_user", "azurerm_*_access_policy*", "azurerm_*_administrator", "azurerm_sql_active_directory_administrator", "azurerm_*_active_directory_administrator", "azurerm_kubernetes_cluster_trusted_access_role_binding",
	"azuread_*", "msgraph_*",
	// Azure: anything.
	"azurerm_*template_deployment*", "azurerm_resource_deployment_script_*", "azurerm_automation_runbook", "azurerm_*run_command", "azapi_*",
	// Kubernetes: RBAC, accounts and tokens, and what changes requests.
	"kubernetes_role*", "kubernetes_cluster_role*", "kubernetes_service_account*", "kubernetes_default_service_account*", "kubernetes_token_request*", "kubernetes_certificate_signing_request*",
	"kubernetes_*webhook_configuration*", "kubernetes_api_service*", "kubernetes_validating_admission_policy*", "kubernetes_mutating_admission_policy*", "kubernetes_pod_security_policy*",
	// Kubernetes: anything, by charts and repositories that the plan does not show.
	"helm_release", "flux_*", "argocd_*", "kustomization_*", "k8s_*", "rancher2_*",
}

// iamAttributes are attributes of the listed clouds' resources that grant access or hand an identity
// to what runs, at any depth. They count where they are set, changed or not known.
var iamAttributes = []struct {
	types patterns
	names []string
}{
	{patterns{"aws_*", "awscc_*"}, []string{
		"policy", "policies", "policy_document", "policy_text", "policy_arn", "policy_arns", "managed_policy_arns", "inline_policy", "access_policy", "access_policies", "assume_role_policy", "assume_role_policy_document",
		"resource_policy", "key_policy", "repository_policy", "auth_policy", "file_system_policy", "permissions_boundary", "kms_key_policy", "endpoint_policy",
		"role", "roles", "role_arn", "role_arns", "role_name", "iam_role", "iam_roles", "iam_role_arn", "iam_role_arns", "iam_role_name", "default_iam_role_arn", "service_role", "service_role_arn", "service_linked_role_arn",
		"execution_role", "execution_role_arn", "task_role_arn", "task_execution_role_arn", "job_role_arn", "pod_execution_role_arn", "node_role", "node_role_arn", "instance_role", "instance_role_arn",
		"iam_instance_profile", "instance_profile", "instance_profile_name", "instance_profile_arn", "iam_instance_profile_arn", "iam_fleet_role", "autoscaling_role", "job_flow_role", "cluster_role",
		"lambda_role_arn", "invocation_role", "invocation_role_arn", "access_role_arn", "instance_role_arn", "logging_role_arn", "cloudwatch_role_arn", "cloud_watch_logs_role_arn", "monitoring_role_arn",
		"administration_role_arn", "execution_role_name", "data_access_role_arn", "source_role_arn", "target_role_arn", "user_role", "default_execution_role", "credentials", "credentials_arn",
		"grant", "grants", "acl", "access_control_policy", "access_config", "authentication_mode", "bootstrap_cluster_creator_admin_permissions", "public_key", "authorization_type",
		"permissions", "allowed_principals", "principal", "principals", "identity_provider", "openid_connect_configuration",
	}},
	{patterns{"google_*"}, []string{
		"service_account", "service_accounts", "service_account_email", "service_account_id", "service_account_name", "service_account_config", "node_service_account", "run_as_service_account", "impersonate_service_account",
		"workload_identity_config", "workload_pool", "access", "authorized_views", "policy_data", "iam_policy", "iam_bindings", "binding", "bindings", "member", "members", "role", "roles", "entity", "role_entity", "predefined_acl",
		"public_access_prevention", "uniform_bucket_level_access", "ssh_keys", "enable_oslogin", "ingress_policies", "oauth_scopes", "oauth_token", "oidc_token", "master_auth", "client_certificate_config", "authenticator_groups_config", "legacy_abac", "enable_legacy_abac",
	}},
	{patterns{"azurerm_*"}, []string{
		"identity", "identity_ids", "kubelet_identity", "user_assigned_identity_id", "user_assigned_identity_ids", "access_policy", "access_policies", "azuread_administrator", "azuread_authentication_only",
		"principal_id", "role_definition_id", "role_definition_name", "service_principal", "admin_group_object_ids", "azure_active_directory_role_based_access_control", "role_based_access_control_enabled", "local_account_disabled",
		"rbac_authorization_enabled", "enable_rbac_authorization", "shared_access_key_enabled", "allow_nested_items_to_be_public", "container_access_type", "delegation", "authorization", "admin_ssh_key", "admin_enabled", "anonymous_pull_enabled",
	}},
	{patterns{"kubernetes_*"}, []string{"service_account", "service_account_name", "automount_service_account_token", "role_ref", "cluster_role_name"}},
}

// iamHarmless are types with attributes of those names that mean something else.
var iamHarmless = patterns{
	"aws_ecr_lifecycle_policy", "aws_ecrpublic_repository", "aws_networkfirewall_firewall_policy", "aws_autoscaling_policy", "aws_appautoscaling_policy", "aws_lb_cookie_stickiness_policy",
	"aws_lb_ssl_negotiation_policy", "aws_load_balancer_policy", "aws_load_balancer_listener_policy", "aws_load_balancer_backend_server_policy", "aws_app_cookie_stickiness_policy", "aws_route53_traffic_policy", "aws_fms_policy",
	"aws_cloudfront_cache_policy", "aws_cloudfront_origin_request_policy", "aws_cloudfront_response_headers_policy", "aws_network_acl*", "aws_default_network_acl", "aws_wafv2_web_acl*", "aws_waf_web_acl", "aws_wafregional_web_acl*",
}

// manifestTypes are types whose object is written as Kubernetes does: the attribute that holds it.
var manifestTypes = map[string]string{"kubernetes_manifest": "manifest", "kubectl_manifest": "yaml_body"}

// manifestKinds are kinds of Kubernetes objects that grant access, by their groups. "*" stands for
// any kind.
var manifestKinds = map[string]patterns{
	"":                                {"ServiceAccount"},
	"rbac.authorization.k8s.io":       {"*"},
	"authentication.k8s.io":           {"*"},
	"authorization.k8s.io":            {"*"},
	"certificates.k8s.io":             {"*"},
	"admissionregistration.k8s.io":    {"*"},
	"apiregistration.k8s.io":          {"*"},
	"policy":                          {"PodSecurityPolicy"},
	"authorization.openshift.io":      {"*"},
	"security.openshift.io":           {"*"},
	"user.openshift.io":               {"*"},
	"oauth.openshift.io":              {"*"},
	"iam.aws.upbound.io":              {"*"},
	"iam.aws.crossplane.io":           {"*"},
	"iam.services.k8s.aws":            {"*"},
	"iam.cnrm.cloud.google.com":       {"*"},
	"authorization.azure.upbound.io":  {"*"},
	"managedidentity.azure.com":       {"*"},
	"infra.contrib.fluxcd.io":         {"*"},
	"source.toolkit.fluxcd.io":        {"*"},
	"kustomize.toolkit.fluxcd.io":     {"*"},
	"helm.toolkit.fluxcd.io":          {"*"},
	"argoproj.io":                     {"*"},
	"yuba.dev":                        {"*"},
	"operator.kubernetes-tenants.org": {"*"},
	"apps.cozystack.io":               {"*"},
	"cozystack.io":                    {"*"},
}
