variable "cluster_name" {
  type        = string
  description = "The cluster."
}

variable "role_arn" {
  type        = string
  description = "The role of the cluster."
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of the cluster."
}

variable "namespace" {
  type        = string
  description = "The namespace whose service accounts take the role."
}

variable "domains" {
  type        = set(string)
  description = "The domains: each has a service account of its name."
}

resource "aws_eks_cluster" "this" {
  name     = var.cluster_name
  role_arn = var.role_arn

  vpc_config {
    subnet_ids = var.subnet_ids
  }
}

resource "aws_iam_openid_connect_provider" "this" {
  url            = aws_eks_cluster.this.identity[0].oidc[0].issuer
  client_id_list = ["sts.amazonaws.com"]
}

resource "aws_iam_role" "workloads" {
  name = "${var.cluster_name}-workloads"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = aws_iam_openid_connect_provider.this.arn }
      Condition = { StringEquals = { "${aws_iam_openid_connect_provider.this.url}:sub" = [for domain in var.domains : "system:serviceaccount:${var.namespace}:${domain}"] } }
    }]
  })
}

output "service_account_annotations" {
  description = "Annotations by which service accounts of Pods take the role (IRSA)."
  value       = { "eks.amazonaws.com/role-arn" = aws_iam_role.workloads.arn }
}

output "endpoint" {
  description = "The address of the cluster's API."
  value       = aws_eks_cluster.this.endpoint
}

output "provides" {
  description = "What domains can rely on."
  value       = { compute = "kubernetes", irsa = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = []
}
