variable "base" {
  type = object({
    cluster_arn        = string
    vpc_id             = string
    subnet_ids         = list(string)
    security_group_ids = list(string)
    execution_role_arn = string
    namespace_id       = string
    namespace_name     = string
  })
  description = "The output base of fargate-base."
}

locals {
  urls = { for name in keys(local.components) : name => "http://${var.domain}-${name}.${var.base.namespace_name}:8080" }
}

resource "aws_service_discovery_service" "component" {
  for_each = local.components
  name     = "${var.domain}-${each.key}"

  dns_config {
    namespace_id = var.base.namespace_id

    dns_records {
      ttl  = 10
      type = "A"
    }
  }
}

resource "aws_ecs_task_definition" "component" {
  for_each                 = local.components
  family                   = "${var.domain}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = "256"
  memory                   = "512"
  execution_role_arn       = var.base.execution_role_arn
  container_definitions = jsonencode([{
    name         = "main"
    image        = each.value.image
    environment  = [for name, value in local.env : { name = name, value = value }]
    secrets      = var.storage.secret == null ? [] : [{ name = "STORAGE_URI", valueFrom = var.storage.secret }]
    portMappings = [{ containerPort = 8080 }]
  }])
}

resource "aws_ecs_service" "component" {
  for_each        = local.components
  name            = "${var.domain}-${each.key}"
  cluster         = var.base.cluster_arn
  task_definition = aws_ecs_task_definition.component[each.key].arn
  launch_type     = "FARGATE"
  desired_count   = each.value.max_instances

  network_configuration {
    subnets         = var.base.subnet_ids
    security_groups = var.base.security_group_ids
  }

  service_registries {
    registry_arn = aws_service_discovery_service.component[each.key].arn
  }
}
