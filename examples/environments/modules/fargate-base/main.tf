variable "name" {
  type        = string
  description = "The name of the system."
}

variable "vpc_cidr" {
  type        = string
  description = "The addresses of the network."
  default     = "10.0.0.0/16"
}

variable "availability_zones" {
  type        = list(string)
  description = "The zones of the private subnets."
}

resource "aws_vpc" "this" {
  cidr_block           = var.vpc_cidr
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_subnet" "private" {
  for_each          = { for i, zone in var.availability_zones : zone => i }
  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(var.vpc_cidr, 8, each.value)
  availability_zone = each.key
}

resource "aws_security_group" "tasks" {
  name   = "${var.name}-tasks"
  vpc_id = aws_vpc.this.id
}

resource "aws_ecs_cluster" "this" {
  name = var.name
}

resource "aws_iam_role" "execution" {
  name               = "${var.name}-execution"
  assume_role_policy = jsonencode({ Version = "2012-10-17", Statement = [{ Action = "sts:AssumeRole", Effect = "Allow", Principal = { Service = "ecs-tasks.amazonaws.com" } }] })
}

resource "aws_service_discovery_private_dns_namespace" "this" {
  name = "${var.name}.internal"
  vpc  = aws_vpc.this.id
}

output "base" {
  description = "What domains need of it."
  value = {
    cluster_arn        = aws_ecs_cluster.this.arn
    vpc_id             = aws_vpc.this.id
    subnet_ids         = [for s in aws_subnet.private : s.id]
    security_group_ids = [aws_security_group.tasks.id]
    execution_role_arn = aws_iam_role.execution.arn
    namespace_id       = aws_service_discovery_private_dns_namespace.this.id
    namespace_name     = aws_service_discovery_private_dns_namespace.this.name
  }
}

output "provides" {
  description = "What domains can rely on."
  value       = { compute = "fargate" }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["the service-linked role of ECS"]
}
